import { type Clock, type Millis, sleep } from "../../../../agent/base/clock.ts";
import { RetryLimiter, type RetryLimits } from "../../../../agent/loop/retry-limiter.ts";
import { WorkQueue } from "../../../../agent/loop/work-queue.ts";
import type { Event, Given } from "./forms.ts";

interface Delivery {
  readonly atMs: Millis;
  readonly item: string;
  readonly by: string;
}

/** A work queue and its workers. */
export class QueueStory {
  readonly delivered: Delivery[] = [];
  readonly ended: { readonly atMs: Millis; readonly by: string }[] = [];
  readonly waits: Millis[] = [];
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  /** Beside the queue, for the event `when`. */
  readonly #limiter: RetryLimiter;
  readonly #stop = new AbortController();
  readonly #items = new Set<string>();
  readonly #processing = new Set<string>();
  readonly #waiting: string[] = [];

  constructor(clock: Clock, limits: RetryLimits | undefined) {
    this.#clock = clock;
    this.#queue = new WorkQueue({ clock }, limits ? { retry: limits } : {});
    this.#limiter = new RetryLimiter(limits);
  }

  get state(): object {
    return { ready: this.#queue.size, delayed: this.#queue.delayed, processing: [...this.#processing] };
  }

  get waiting(): readonly string[] {
    return [...this.#waiting];
  }

  get requeues(): ReadonlyMap<string, number> {
    return new Map([...this.#items].map((item) => [item, this.#queue.failures(item)]));
  }

  get deliveries(): ReadonlyMap<string, readonly Millis[]> {
    const times = new Map<string, Millis[]>();
    for (const { item, atMs } of this.delivered) times.set(item, [...(times.get(item) ?? []), atMs]);
    return times;
  }

  employ({ count, takesMs = 0, failures = new Map() }: NonNullable<Given["workers"]>): void {
    const left = new Map(failures);
    for (let worker = 1; worker <= count; worker++) void this.#work(`worker ${worker}`, takesMs, left);
  }

  /** Nobody waits any more. */
  end(): void {
    this.#stop.abort();
    this.#queue.shutDown();
  }

  /** Results by item, if the event is a query. */
  happen(event: Event): readonly number[] | undefined {
    switch (event.do) {
      case "add":
        for (const item of this.#each(event)) this.#queue.add(item);
        return undefined;
      case "addAfter":
        for (const item of this.#each(event)) this.#queue.addAfter(item, event.afterMs);
        return undefined;
      case "addRateLimited":
        for (const item of this.#each(event)) this.#queue.retry(item, event.atLeastMs);
        return undefined;
      case "forget":
        for (const item of this.#each(event)) {
          this.#queue.forget(item);
          this.#limiter.forget(item);
        }
        return undefined;
      case "numRequeues":
        return this.#each(event).map((item) => this.#queue.failures(item));
      case "when":
        return this.#each(event).map((item) => this.#when(item));
      case "get":
        void this.#take(event.by ?? "worker");
        return undefined;
      case "done":
        this.#done(event.item);
        return undefined;
      case "shutDown":
        this.#queue.shutDown();
        return undefined;
      case "look":
        return undefined;
      default:
        return event satisfies never;
    }
  }

  async #take(by: string): Promise<string | undefined> {
    this.#waiting.push(by);
    const item = await this.#queue.take(this.#stop.signal);
    if (this.#stop.signal.aborted) return undefined;
    this.#waiting.splice(this.#waiting.indexOf(by), 1);
    const atMs = this.#clock.now().mono;
    if (item === undefined) {
      this.ended.push({ atMs, by });
      return undefined;
    }
    this.#processing.add(item);
    this.delivered.push({ atMs, item, by });
    return item;
  }

  #done(item: string): void {
    this.#processing.delete(item);
    this.#queue.done(item);
  }

  async #work(by: string, takes: Millis, failures: Map<string, number>): Promise<void> {
    for (let item = await this.#take(by); item !== undefined; item = await this.#take(by)) {
      if (takes > 0) await sleep(this.#clock, takes, this.#stop.signal);
      const left = failures.get(item) ?? 0;
      failures.set(item, left - 1);
      if (left > 0) this.#queue.retry(item);
      else this.#queue.forget(item);
      this.#done(item);
    }
  }

  #when(item: string): Millis {
    const wait = this.#limiter.delay(item, this.#clock.now());
    this.waits.push(wait);
    return wait;
  }

  #each({ item, items = [] }: Named): readonly string[] {
    const listed =
      "prefix" in items ? Array.from({ length: items.count }, (_, at) => `${items.prefix}${at + 1}`) : items;
    const all = item === undefined ? listed : [item, ...listed];
    for (const one of all) this.#items.add(one);
    return all;
  }
}

interface Named {
  readonly item?: string;
  readonly items?: readonly string[] | { readonly prefix: string; readonly count: number };
}
