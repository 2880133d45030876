import type { Node, Pod, Taint, Toleration } from "../../../../agent/api/core.ts";
import { keyOf } from "../../../../agent/api/meta.ts";
import { podCondition } from "../../../../agent/api/pods.ts";
import { nodes, pods } from "../../../../agent/api/resources.ts";
import { noExecuteTaints } from "../../../../agent/api/taints.ts";
import type { Millis } from "../../../../agent/base/clock.ts";
import { taintEviction } from "../../../../agent/controllers/taint-eviction/controller.ts";
import { deadlineOf, type EvictionTimer, isSent } from "../../../../agent/controllers/taint-eviction/timer.ts";
import type { ControlLoop } from "../../../../agent/loop/control-loop.ts";
import { Memo } from "../../../../storage/memo.ts";
import { stateMigrations } from "../../../../storage/schema.ts";
import { inMemory } from "../../in-memory.ts";
import { MalformedCase } from "../../malformed.ts";
import type { Outcome } from "../../outcome.ts";
import { lifecycleSettings } from "../../settings.ts";
import { type ReadyWord, statusOf } from "../../shorthand.ts";
import { type CaseTime, ms } from "../../site/case-time.ts";
import { Site } from "../../site/site.ts";
import { showTaint } from "../../site/taint-text.ts";
import type { Config, Event, Given, GivenNode, GivenPod } from "./forms.ts";

type Loop = ControlLoop<unknown, EvictionTimer | undefined>;

/** A site on which only taint eviction runs: no monitor pass ever judges its boards. */
export class EvictionStory {
  readonly site: Site;
  readonly #time: CaseTime;
  readonly #isJudged: boolean;
  readonly #states = inMemory(stateMigrations);
  #memo = new Memo(this.#states);
  #loop: Loop | undefined;
  #boots = 1;
  #uids = 0;
  #touches = 0;

  constructor(time: CaseTime, { judged = false }: Config, { nodes: boards = [], pods: given = [] }: Given) {
    this.site = new Site(time);
    this.#time = time;
    this.#isJudged = judged;
    for (const board of boards) this.#putNode(board);
    for (const pod of given) this.#putPod(pod);
  }

  async begin(): Promise<void> {
    this.#start();
  }

  close(): void {
    this.#states.close();
  }

  /** The end of each pod's timer, for pods that have one. */
  get timers(): Outcome {
    const found = this.#keys().flatMap((key) => {
      const timer = this.#loop?.memoryOf(key);
      return timer === undefined || isSent(timer) ? [] : [[key, ms(deadlineOf(timer))] as const];
    });
    return Object.fromEntries(found);
  }

  get pods(): Outcome {
    const all = this.site.api.all(pods).map((pod) => {
      const { uid } = pod.metadata;
      const isDisrupted = podCondition(pod, "DisruptionTarget")?.status === "True";
      return [keyOf(pod), { uid, node: pod.spec?.nodeName, isDisrupted }] as const;
    });
    return Object.fromEntries(all.map(([key, { isDisrupted, ...pod }]) => [key, { ...pod, disrupted: isDisrupted }]));
  }

  get nodes(): Outcome {
    const all = this.site.api.all(nodes);
    return Object.fromEntries(all.map((node) => [node.metadata.name, noExecuteTaints(node).map(showTaint)]));
  }

  async happen(event: Event): Promise<boolean> {
    if (event.do === "restart") await this.#restart(event.how ?? "process", event.downMs ?? 0);
    else this.#happen(event);
    return false;
  }

  #happen(event: Exclude<Event, { do: "restart" }>): void {
    const { api, refusals } = this.site;
    switch (event.do) {
      case "taint":
        this.#change(this.#node(event.node), { taints: event.taints });
        break;
      case "report":
        api.put(nodes, { ...this.#node(event.node), status: statusFrom(event.ready) });
        break;
      case "tolerate":
        this.#changePod(event.pod, { tolerations: event.tolerations });
        break;
      case "createNode":
        this.#putNode(event.node);
        break;
      case "deleteNode":
        api.remove(nodes, this.#node(event.node).metadata.name);
        break;
      case "createPod":
        if (api.find(pods, keyOfPod(event.pod.name))) throw new MalformedCase([`${event.pod.name} is there already`]);
        this.#putPod(event.pod);
        break;
      case "deletePod":
        api.remove(pods, keyOf(this.#pod(event.pod)));
        break;
      case "replacePod":
        this.#pod(event.pod.name);
        this.#putPod(event.pod);
        break;
      case "assign":
        this.#changePod(event.pod, { nodeName: event.node ?? undefined });
        break;
      case "touchPod":
        api.put(pods, touched(this.#pod(event.pod), ++this.#touches));
        break;
      case "touchNode":
        api.put(nodes, touched(this.#node(event.node), ++this.#touches));
        break;
      case "terminate": {
        const pod = this.#pod(event.pod);
        const deletionTimestamp = this.#time.stamp(this.site.clock.now().mono);
        api.put(pods, { ...pod, metadata: { ...pod.metadata, deletionTimestamp } });
        break;
      }
      case "refuse": {
        const { pod, part, reason, times } = event;
        refusals.add({ reason, times, object: pod && keyOfPod(pod), part: part === "delete" ? "spec" : part });
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

  #start(): void {
    const settings = lifecycleSettings({});
    const boot = `boot-${this.#boots}`;
    const recordOf = (): "no judge" | undefined => (this.#isJudged ? undefined : "no judge");
    const controller = taintEviction({ settings, boot, inherited: () => undefined, recordOf });
    const loop = this.site.loopOf(controller, this.#memo);
    this.#loop = loop;
    this.site.start(loop);
  }

  async #restart(how: "process" | "board" | "takeover", down: Millis): Promise<void> {
    await this.site.endTerm();
    this.#loop = undefined;
    if (how === "board") this.#boots++;
    if (how === "takeover") this.#memo.clear("memory/taint-eviction");
    if (down === 0) this.#start();
    else this.site.clock.after(down, () => this.#start());
  }

  #keys(): readonly string[] {
    return this.site.api.all(pods).map(keyOf);
  }

  #putNode({ name, taints = [], ready = "-" }: GivenNode): void {
    this.site.api.put(nodes, { metadata: { name }, spec: { taints }, status: statusFrom(ready) });
  }

  #putPod({ name, node, tolerations, uid = `pod-${++this.#uids}`, terminating, disrupted }: GivenPod): void {
    const [namespace, rest] = placeOf(name);
    const stamp = this.#time.stamp(this.site.clock.now().mono);
    this.site.api.put(pods, {
      metadata: { name: rest, namespace, uid, ...(terminating && { deletionTimestamp: stamp }) },
      spec: { containers: [], ...(node !== undefined && { nodeName: node }), ...(tolerations && { tolerations }) },
      status: { phase: "Running", conditions: disrupted ? [disruption] : [] },
    });
  }

  #change(node: Node, spec: { readonly taints: readonly Taint[] }): void {
    this.site.api.put(nodes, { ...node, spec: { ...node.spec, ...spec } });
  }

  #changePod(
    name: string,
    spec: { readonly tolerations?: readonly Toleration[]; readonly nodeName?: string | undefined },
  ): void {
    const pod = this.#pod(name);
    const { nodeName, ...rest } = { ...pod.spec, ...spec };
    this.site.api.put(pods, { ...pod, spec: { ...rest, ...(nodeName !== undefined && { nodeName }) } });
  }

  #node(name: string): Node {
    const found = this.site.api.find(nodes, name);
    if (found) return found;
    throw new MalformedCase([`there is no Node ${JSON.stringify(name)} at that time`]);
  }

  #pod(name: string): Pod {
    const found = this.site.api.find(pods, keyOfPod(name));
    if (found) return found;
    throw new MalformedCase([`there is no pod ${JSON.stringify(name)} at that time`]);
  }
}

function statusFrom(ready: ReadyWord): NonNullable<Node["status"]> {
  const status = statusOf(ready);
  return status === undefined ? {} : { conditions: [{ type: "Ready", status }] };
}

const disruption = {
  type: "DisruptionTarget",
  status: "True",
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};

const touched = <T extends Node | Pod>(object: T, touch: number): object => ({
  ...object,
  metadata: { ...object.metadata, labels: { ...object.metadata.labels, touched: String(touch) } },
});

function placeOf(name: string): [namespace: string, name: string] {
  const slash = name.indexOf("/");
  return slash < 0 ? ["default", name] : [name.slice(0, slash), name.slice(slash + 1)];
}

const keyOfPod = (name: string): string => placeOf(name).join("/");
