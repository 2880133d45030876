import type { Node, Pod, Service } from "../../../../agent/api/core.ts";
import { keyOf } from "../../../../agent/api/meta.ts";
import { endpointSlices, endpoints, nodes, pods, services } from "../../../../agent/api/resources.ts";
import { zoneLabel } from "../../../../agent/api/topology.ts";
import type { WorkloadController } from "../../../../agent/controllers/registry.ts";
import { MalformedCase } from "../../malformed.ts";
import type { CaseTime } from "../../site/case-time.ts";
import { type Loop, Site } from "../../site/site.ts";
import type { Event, Given } from "./forms.ts";
import { changedPod, keyOfName, placeOf, podsFrom } from "./pods.ts";
import { changedService, serviceFrom } from "./services.ts";
import { namesFrom, sliceFrom } from "./slices.ts";

/** A loop that exposes its memory of a service. */
type ServiceLoop = Loop & { memoryOf(key: string): unknown };

/** A site with services and pods, on which these controllers run and boards are not judged. */
export class ServiceStory {
  readonly site: Site;
  readonly #time: CaseTime;
  readonly #controllers: readonly WorkloadController[];
  #loops: readonly ServiceLoop[] = [];
  #order = 1;

  constructor(time: CaseTime, given: Given, controllersOf: (story: ServiceStory) => readonly WorkloadController[]) {
    this.site = new Site(time);
    this.#time = time;
    for (const node of given.nodes ?? [{ name: "n1" }]) this.#putNode(node);
    for (const one of given.services ?? [{ name: "web" }]) this.site.api.put(services, serviceFrom(one, time, 0));
    for (const pod of given.pods ?? []) this.#putPods(pod);
    for (const one of given.endpoints ?? []) this.site.api.put(endpoints, endpointsFrom(one));
    for (const slice of given.slices ?? []) this.#putSlice(slice);
    this.#controllers = controllersOf(this);
  }

  async begin(): Promise<void> {
    this.#loops = this.#controllers.map((one) => one.open<ServiceLoop>((controller) => this.site.loopOf(controller)));
    for (const loop of this.#loops) this.site.start(loop);
  }

  /** The controllers' memories of the existing services. */
  get memories(): readonly unknown[] {
    const keys = this.site.api.all(services).map(keyOf);
    return this.#loops.flatMap((loop) => keys.map((key) => loop.memoryOf(key)));
  }

  async happen(event: Event): Promise<boolean> {
    switch (event.do) {
      case "restart":
        await this.site.endTerm();
        await this.begin();
        break;
      case "stop":
        await this.site.endTerm();
        break;
      case "start":
        await this.begin();
        break;
      default:
        this.#happen(event);
    }
    return false;
  }

  #happen(event: Exclude<Event, { do: "restart" | "stop" | "start" }>): void {
    const { api, refusals, clock } = this.site;
    const nowMs = clock.now().mono;
    switch (event.do) {
      case "createPod":
        this.#putPods(event.pod);
        break;
      case "changePod":
        for (const name of namesFrom(event.pod)) api.put(pods, changedPod(this.#pod(name), event, this.#time, nowMs));
        break;
      case "deletePod":
        for (const name of namesFrom(event.pod)) api.remove(pods, keyOfName(this.#pod(name) && name));
        break;
      case "createService":
        api.put(services, serviceFrom(event.service, this.#time, nowMs));
        break;
      case "changeService":
        api.put(services, changedService(this.#service(event.service), event, this.#time, nowMs));
        break;
      case "deleteService":
        api.remove(services, keyOfName(this.#service(event.service) && event.service));
        break;
      case "createNode":
        this.#putNode(event.node);
        break;
      case "changeNode":
        this.#putNode({ name: event.node, zone: event.zone, cpu: cpuOf(this.#node(event.node)) });
        break;
      case "deleteNode":
        api.remove(nodes, this.#node(event.node).metadata.name);
        break;
      case "createEndpoints":
        api.put(endpoints, endpointsFrom(event.endpoints));
        break;
      case "changeEndpoints":
        this.#changeEndpoints(event);
        break;
      case "deleteEndpoints":
        this.#remove(endpoints, event.endpoints);
        break;
      case "changeSlice":
        this.#changeSlice(event);
        break;
      case "deleteSlice":
        this.#remove(endpointSlices, event.slice);
        break;
      case "refuse": {
        const { object, reason, times } = event;
        refusals.add({ reason, object, times });
        break;
      }
      case "accept":
        refusals.clear();
        break;
      case "look":
        break;
      default:
        event satisfies never;
    }
  }

  /** The service with that name; without a name, the only one. */
  serviceNamed(name: string | undefined): Service {
    if (name !== undefined) return this.#service(name);
    const [only, ...more] = this.site.api.all(services);
    if (only && more.length === 0) return only;
    throw new MalformedCase(["a slice has to say to which of the services it belongs"]);
  }

  #putSlice(given: NonNullable<Given["slices"]>[number]): void {
    const { api, clock } = this.site;
    const around = {
      service: this.serviceNamed(given.service),
      pod: (key: string) => this.#pod(key),
      node: (name: string) => api.find(nodes, name),
    };
    api.put(endpointSlices, sliceFrom(given, around, this.#time.stamp(clock.now().mono)));
  }

  #putPods(given: NonNullable<Given["pods"]>[number]): void {
    const nowMs = this.site.clock.now().mono;
    for (const pod of podsFrom(given, this.#time, { nowMs, order: this.#order })) {
      this.site.api.put(pods, pod);
      this.#order++;
    }
  }

  #putNode({ name, zone, cpu }: { name: string; zone?: string | null; cpu?: string | undefined }): void {
    const labels = zone ? { [zoneLabel]: zone } : {};
    const status = {
      conditions: [{ type: "Ready", status: "True" }],
      ...(cpu !== undefined && { allocatable: { cpu } }),
    };
    this.site.api.put(nodes, { metadata: { name, labels }, spec: {}, status });
  }

  #changeEndpoints(event: Extract<Event, { do: "changeEndpoints" }>): void {
    const key = keyOfName(event.endpoints);
    const before = this.site.api.find(endpoints, key);
    if (before === undefined) throw new MalformedCase([`there are no Endpoints ${key} at that time`]);
    const after = endpointsFrom({ ...event, name: event.endpoints });
    const { metadata, subsets } = after;
    this.site.api.put(endpoints, {
      ...before,
      ...(event.subsets && { subsets }),
      metadata: {
        ...before.metadata,
        ...(event.labels && { labels: metadata.labels }),
        ...(event.annotations && { annotations: metadata.annotations }),
      },
    });
  }

  /** Labels count as a generation, annotations do not. */
  #changeSlice({ slice, labels, annotations }: Extract<Event, { do: "changeSlice" }>): void {
    const before = this.site.api.find(endpointSlices, keyOfName(slice));
    if (before === undefined) throw new MalformedCase([`there is no EndpointSlice ${slice} at that time`]);
    const { metadata } = before;
    this.site.api.put(endpointSlices, {
      ...before,
      metadata: {
        ...metadata,
        labels: { ...metadata.labels, ...Object.fromEntries(labels ?? []) },
        annotations: { ...metadata.annotations, ...Object.fromEntries(annotations ?? []) },
        generation: (metadata.generation ?? 0) + (labels === undefined ? 0 : 1),
      },
    });
  }

  #remove(resource: typeof endpoints | typeof endpointSlices, name: string): void {
    if (this.site.api.remove(resource, keyOfName(name)) !== undefined) return;
    throw new MalformedCase([`there is no ${resource.kind} ${name} at that time`]);
  }

  #pod(name: string): Pod {
    const found = this.site.api.find(pods, keyOfName(name));
    if (found) return found;
    throw new MalformedCase([`there is no pod ${JSON.stringify(name)} at that time`]);
  }

  #service(name: string): Service {
    const found = this.site.api.find(services, keyOfName(name));
    if (found) return found;
    throw new MalformedCase([`there is no service ${JSON.stringify(name)} at that time`]);
  }

  #node(name: string): Node {
    const found = this.site.api.find(nodes, name);
    if (found) return found;
    throw new MalformedCase([`there is no Node ${JSON.stringify(name)} at that time`]);
  }
}

const cpuOf = ({ status }: Node): string | undefined => status?.allocatable?.cpu;

function endpointsFrom({ name: given, subsets = [], labels, annotations }: NonNullable<Given["endpoints"]>[number]) {
  const [namespace, name] = placeOf(given);
  return {
    metadata: {
      name,
      namespace,
      uid: `uid-${given}`,
      ...(labels && { labels: Object.fromEntries(labels) }),
      ...(annotations && { annotations: Object.fromEntries(annotations) }),
    },
    subsets: subsets.map(({ ready = [], notReady = [], ports = [] }) => ({
      ...(ready.length > 0 && { addresses: ready }),
      ...(notReady.length > 0 && { notReadyAddresses: notReady }),
      ...(ports.length > 0 && { ports: ports.map((port) => ({ protocol: "TCP", ...port })) }),
    })),
  };
}
