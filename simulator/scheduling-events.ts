import type { Pod } from "../agent/api/core.ts";
import { events } from "../agent/api/resources.ts";
import { timestamp } from "../agent/api/timestamps.ts";
import type { Ambient } from "../agent/base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../agent/base/clock.ts";
import { isNotFound, type SiteClient } from "./site-client.ts";

/** Events are kept for an hour: the reason of a pod that waits for longer is told again before. */
const again: Millis = 10 * 60_000;
const component = "default-scheduler";

/** What was said of a pod. */
interface Told {
  /** Last said, and when. */
  readonly message: string;
  readonly at: Instant;
  /** Per message: the Event that the API has. */
  readonly written: ReadonlyMap<string, { readonly name: string; readonly count: number }>;
}

/** The Events that say why pods are on no board: one for each pod and reason, counted when the reason comes back. */
export class SchedulingEvents {
  readonly #ambient: Pick<Ambient, "clock" | "random">;
  readonly #client: SiteClient;
  readonly #told = new Map<string, Told>();

  constructor(ambient: Pick<Ambient, "clock" | "random">, parts: { readonly client: SiteClient }) {
    this.#ambient = ambient;
    this.#client = parts.client;
  }

  /** Says nothing where that was said last, and not long ago. */
  async tell(pod: Pod, message: string, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const at = this.#ambient.clock.now();
    const told = this.#told.get(uid);
    if (told?.message === message && elapsed(told.at, at) < again) return;
    const known = told?.written.get(message);
    const count = (known?.count ?? 0) + 1;
    const counted = known && (await this.#count(pod, known.name, count, at, signal));
    const event = counted
      ? { name: known.name, count }
      : { name: await this.#create(pod, message, at, signal), count: 1 };
    this.#told.set(uid, { message, at, written: new Map([...(told?.written ?? []), [message, event]]) });
  }

  /** Remembers nothing of pods that wait no longer. */
  keep(waiting: ReadonlySet<string>): void {
    for (const uid of this.#told.keys()) if (!waiting.has(uid)) this.#told.delete(uid);
  }

  /** False where the Event is gone by now. */
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
