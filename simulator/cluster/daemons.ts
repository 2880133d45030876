import type { DaemonSet, EndpointSlice, Pod, Service } from "../../agent/api/core.ts";
import type { NewObject } from "../../agent/api/meta.ts";
import { daemonSets, newObject, services } from "../../agent/api/resources.ts";
import { type Workload, workloadNamespace } from "./workloads.ts";

/** A DaemonSet that a scenario requests. */
export interface Daemon {
  readonly name: string;
}

const label = "siteward.dev/daemon";
/** The image of all containers. Containers are simulated, and so are the versions of their images. */
const image = "simulated";

export const daemonOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[label];

/** A new DaemonSet. Its rollout updates the boards one after the other, each once the pod of the previous one is up. */
export function newDaemonSet({ name }: Daemon): NewObject {
  const labels = { app: name, [label]: name };
  return newObject(daemonSets, {
    metadata: { name, namespace: workloadNamespace, labels },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: `${image}:1` }] } },
    },
  });
}

/** A merge patch that sets a newer image in the template, which starts the rollout. */
export function newerImage({ spec }: DaemonSet): object {
  const [container] = spec?.template.spec?.containers ?? [];
  const version = Number(container?.image?.split(":")[1] ?? 1) + 1;
  const containers = [{ name: "main", image: `${image}:${version}` }];
  return { spec: { template: { spec: { containers } } } };
}

/** Spec of a Service for a workload with a port. */
export function newService({ name, port }: Workload & { readonly port: number }): NewObject {
  return newObject(services, {
    metadata: { name, namespace: workloadNamespace, labels: { app: name } },
    spec: { selector: { app: name }, ports: [{ port }] },
  });
}

export interface DaemonPicture {
  readonly name: string;
  readonly boards: number;
  readonly ready: number;
  /** The number of boards whose pod was made from the newest template. */
  readonly updated: number;
  /** True if the controller has observed the newest template, and every board has a ready pod made from it. */
  readonly rolled: boolean;
}

export function daemonPicture({ metadata, status }: DaemonSet): DaemonPicture {
  const {
    desiredNumberScheduled: boards = 0,
    numberReady: ready = 0,
    updatedNumberScheduled: updated = 0,
  } = status ?? {};
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return { name: metadata.name, boards, ready, updated, rolled: isSeen && updated === boards && ready === boards };
}

export interface ServicePicture {
  readonly name: string;
  /** The number of pods in the service's endpoints. */
  readonly ready: number;
}

export function servicePicture({ metadata }: Service, slices: Iterable<EndpointSlice>): ServicePicture {
  const own = [...slices].filter((slice) => isOf(slice, metadata));
  return { name: metadata.name, ready: own.flatMap(readyUids).length };
}

/** Uids of the pods to which at least one service routes. */
export const servedUids = (slices: Iterable<EndpointSlice>): ReadonlySet<string> =>
  new Set([...slices].flatMap(readyUids));

const isOf = ({ metadata: { namespace, labels } }: EndpointSlice, service: Service["metadata"]): boolean =>
  namespace === service.namespace && labels?.["kubernetes.io/service-name"] === service.name;

/** An endpoint without a ready condition is ready. */
const readyUids = ({ endpoints = [] }: EndpointSlice): readonly string[] =>
  endpoints.flatMap(({ conditions, targetRef }) => (conditions?.ready === false ? [] : (targetRef?.uid ?? [])));
