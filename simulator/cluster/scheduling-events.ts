import type { Pod } from "../../agent/api/core.ts";
import { events } from "../../agent/api/resources.ts";
import { timestamp } from "../../agent/api/timestamps.ts";
import type { Ambient } from "../../agent/base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../../agent/base/clock.ts";
import { isNotFound, type SiteClient } from "../client/site-client.ts";

/**
 * Minimum interval between reports of the same reason. Events are kept for an hour, so the Event of a pod that waits
 * longer is rewritten before it expires.
 */
const again: Millis = 10 * 60_000;
const component = "default-scheduler";

/** What was reported about a pod. */
interface Reported {
  /** The last message, and when it was sent. */
  readonly message: string;
  readonly at: Instant;
  /** The Events in the API, by message. */
  readonly written: ReadonlyMap<string, { readonly name: string; readonly count: number }>;
}

/** Events that explain why pods are unscheduled: one per pod and reason, with a count of recurrences. */
export class SchedulingEvents {
  readonly #ambient: Pick<Ambient, "clock" | "random">;
  readonly #client: SiteClient;
  readonly #reported = new Map<string, Reported>();

  constructor(ambient: Pick<Ambient, "clock" | "random">, deps: { readonly client: SiteClient }) {
    this.#ambient = ambient;
    this.#client = deps.client;
  }

  /** Reports why a pod is unscheduled. Does nothing if the same reason was reported recently. */
  async report(pod: Pod, message: string, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const at = this.#ambient.clock.now();
    const last = this.#reported.get(uid);
    if (last?.message === message && elapsed(last.at, at) < again) return;
    const known = last?.written.get(message);
    const count = (known?.count ?? 0) + 1;
    const counted = known && (await this.#count(pod, known.name, count, at, signal));
    const event = counted
      ? { name: known.name, count }
      : { name: await this.#create(pod, message, at, signal), count: 1 };
    this.#reported.set(uid, { message, at, written: new Map([...(last?.written ?? []), [message, event]]) });
  }

  /** Forgets pods that are no longer waiting. */
  keep(waiting: ReadonlySet<string>): void {
    for (const uid of this.#reported.keys()) if (!waiting.has(uid)) this.#reported.delete(uid);
  }

  /** Raises the count of an Event. Returns false if the Event no longer exists. */
  async #count(pod: Pod, name: string, count: number, at: Instant, signal: AbortSignal): Promise<boolean> {
    const place = { namespace: pod.metadata.namespace, name };
    try {
      await this.#client.patch(events, place, "merge", { count, lastTimestamp: timestamp(at) }, signal);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #create(pod: Pod, message: string, at: Instant, signal: AbortSignal): Promise<string> {
    const { namespace, name, uid, resourceVersion } = pod.metadata;
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: this.#newName(name), ...(namespace !== undefined && { namespace }) },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid, resourceVersion },
      reason: "FailedScheduling",
      message,
      type: "Warning",
      source: { component },
      reportingComponent: component,
      firstTimestamp: timestamp(at),
      lastTimestamp: timestamp(at),
      count: 1,
    };
    await this.#client.create(events, namespace, event, signal);
    return event.metadata.name;
  }

  #newName(pod: string): string {
    return `${pod.slice(0, 236)}.${this.#ambient.random.uuid().replaceAll("-", "").slice(0, 16)}`;
  }
}
