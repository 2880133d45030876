import type { Node, Pod } from "../../agent/api/core.ts";
import { pods } from "../../agent/api/resources.ts";
import { timestamp } from "../../agent/api/timestamps.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import type { Millis } from "../../agent/base/clock.ts";
import { WakeSignal } from "../../agent/base/concurrency/wake-signal.ts";
import { sentenceOf } from "../../agent/base/errors.ts";
import type { Mirror } from "../client/mirror.ts";
import { isNotFound, isTaken, type SiteClient } from "../client/site-client.ts";
import { loadOf, placementOf } from "./scheduling.ts";
import { SchedulingEvents } from "./scheduling-events.ts";

/** A failed pass is repeated after this time even if nothing changes. */
const again: Millis = 5000;

/**
 * A scheduler good enough for a simulated site. It observes nodeName, nodeSelector, required node affinity, taints and
 * cordons, and prefers boards with few pods. It ignores resources, preferences, preemption and topology spread.
 */
export class Scheduler {
  readonly #ambient: Ambient;
  readonly #client: SiteClient;
  readonly #nodes: Mirror<Node>;
  readonly #pods: Mirror<Pod>;
  readonly #events: SchedulingEvents;
  /** Recent bindings of this scheduler, by pod uid, until the mirror shows them. */
  readonly #bound = new Map<string, string>();

  constructor(
    ambient: Ambient,
    deps: { readonly client: SiteClient; readonly nodes: Mirror<Node>; readonly pods: Mirror<Pod> },
  ) {
    this.#ambient = ambient;
    this.#client = deps.client;
    this.#nodes = deps.nodes;
    this.#pods = deps.pods;
    this.#events = new SchedulingEvents(ambient, { client: deps.client });
  }

  async run(signal: AbortSignal): Promise<void> {
    const bell = new WakeSignal(this.#ambient.clock);
    const detach = [this.#nodes.onChange(() => bell.ring()), this.#pods.onChange(() => bell.ring())];
    while (!signal.aborted) {
      if (this.#nodes.hasSynced && this.#pods.hasSynced) await this.#pass(signal);
      await bell.wait(signal, again);
    }
    for (const end of detach) end();
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const unbound: Pod[] = [];
    const waiting = new Set<string>();
    for (const pod of this.#pods.values()) {
      if (pod.spec?.nodeName !== undefined || pod.metadata.deletionTimestamp !== undefined) continue;
      waiting.add(pod.metadata.uid);
      if (!this.#bound.has(pod.metadata.uid)) unbound.push(pod);
    }
    for (const uid of this.#bound.keys()) if (!waiting.has(uid)) this.#bound.delete(uid);
    this.#events.keep(waiting);
    for (const pod of unbound) {
      if (signal.aborted) return;
      await this.#place(pod, signal);
    }
  }

  async #place(pod: Pod, signal: AbortSignal): Promise<void> {
    const load = loadOf(this.#pods.values());
    for (const board of this.#bound.values()) load.set(board, (load.get(board) ?? 0) + 1);
    const { board, why } = placementOf(pod, [...this.#nodes.values()], load);
    try {
      if (board === undefined) {
        await this.#explain(pod, why, signal);
        await this.#events.report(pod, why, signal);
      } else {
        await this.#client.bind(pods, pod, board, signal);
        this.#bound.set(pod.metadata.uid, board);
      }
    } catch (error) {
      if (isNotFound(error) || isTaken(error)) return;
      this.#ambient.log.debug("pod not placed", { pod: pod.metadata.name, error: sentenceOf(error) });
    }
  }

  async #explain(pod: Pod, message: string, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const known = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    if (known?.status === "False" && known.message === message) return;
    const condition = {
      type: "PodScheduled",
      status: "False",
      reason: "Unschedulable",
      message,
      lastTransitionTime: known?.lastTransitionTime ?? timestamp(this.#ambient.clock.now()),
    };
    const patch = { metadata: { uid }, status: { conditions: [condition] } };
    await this.#client.patch(pods, { namespace, name, subresource: "status" }, "strategic", patch, signal);
  }
}
