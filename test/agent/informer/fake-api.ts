import type { KubeObject } from "../../../agent/api/meta.ts";
import { keyOf } from "../../../agent/api/meta.ts";
import { type Resource, resourceName } from "../../../agent/api/resources.ts";
import type { Clock } from "../../../agent/base/clock.ts";
import { elapsed } from "../../../agent/base/clock.ts";
import { ApiError } from "../../../agent/client/api-error.ts";
import type { ListOptions, ListResult, Refusable, WatchOptions } from "../../../agent/client/kube-client.ts";
import type { WatchEvent } from "../../../agent/client/watch-stream.ts";
import type { InformerClient } from "../../../agent/informer/informer-client.ts";

export interface Request {
  readonly verb: "get" | "list" | "watch";
  readonly resource: string;
  readonly at: number;
  readonly options: ListOptions & Partial<WatchOptions> & { readonly name?: string };
}

interface Revision {
  readonly version: number;
  readonly resource: string;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
}

type Selector = Pick<WatchOptions, "namespace" | "labelSelector" | "fieldSelector">;

/** An API server small enough to be made to misbehave: objects, their history, and whatever goes wrong between. */
export class FakeApi implements InformerClient {
  readonly requests: Request[] = [];
  readonly watches: FakeWatch[] = [];
  /** Objects that a list names as unusable. */
  readonly unusable: string[] = [];
  readonly #clock: Clock;
  readonly #objects = new Map<string, KubeObject>();
  readonly #history: Revision[] = [];
  readonly #failures: {
    readonly verb: string;
    readonly error: Error;
    readonly unless: (request: Request) => boolean;
  }[] = [];
  readonly #snapshots = new Map<number, readonly KubeObject[]>();
  #version = 100;
  #compacted = 0;
  sendsBookmarks = true;
  /** False: watches opened from now on deliver no event as a whole. */
  arrivesWhole = true;
  /**
   * False: the server learns nothing of a resource that rests, as with an etcd that reports no progress, until it has an
   * event or is asked for the newest state. It sends no bookmark with the version at which a watch began.
   */
  knowsProgress = true;
  readonly #progress = new Map<string, number>();
  /** Names of objects whose state cannot be read: lists give their identity. */
  readonly unread = new Set<string>();
  /** What a list waits for before each of its pages. */
  beforePage: (request: Request) => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The watch that is open now. */
  get openWatch(): FakeWatch {
    const watch = this.watches.findLast(({ isOpen }) => isOpen);
    if (!watch) throw new Error("no watch is open");
    return watch;
  }

  asked(verb: Request["verb"], resource?: string): readonly Request[] {
    return this.requests.filter((one) => one.verb === verb && (resource === undefined || one.resource === resource));
  }

  /** The next `times` requests of this kind fail. */
  fail(verb: Request["verb"], error: Error, times = 1, unless: (request: Request) => boolean = () => false): void {
    for (let count = 0; count < times; count++) this.#failures.push({ verb, error, unless });
  }

  put<T extends KubeObject>(resource: Resource<T>, object: T): T {
    const name = resourceName(resource);
    const version = ++this.#version;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const id = `${name}/${keyOf(object)}`;
    this.#record({ version, resource: name, before: this.#objects.get(id), after: stored });
    this.#objects.set(id, stored);
    return stored;
  }

  remove(resource: Resource<KubeObject>, key: string): void {
    const name = resourceName(resource);
    const id = `${name}/${key}`;
    this.#record({ version: ++this.#version, resource: name, before: this.#objects.get(id), after: undefined });
    this.#objects.delete(id);
  }

  get version(): string {
    return String(this.#version);
  }

  /** etcd goes back to an older state. */
  restore(version: number): void {
    this.#version = version;
    this.#history.splice(0, this.#history.length, ...this.#history.filter((one) => one.version <= version));
  }

  /** The server loses its history: watches from before end with 410. */
  compact(): void {
    this.#compacted = this.#version;
    this.#snapshots.clear();
  }

  get<T extends KubeObject>(
    resource: Resource<T>,
    at: { readonly namespace?: string | undefined; readonly name: string },
  ): Promise<T> {
    return this.#answer({ verb: "get", resource: resourceName(resource), at: this.#now, options: at }, () => {
      const key = at.namespace === undefined ? at.name : `${at.namespace}/${at.name}`;
      const found = this.#objects.get(`${resourceName(resource)}/${key}`);
      if (!found) throw apiError("get", 404, "NotFound");
      return found as T;
    });
  }

  list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
  ): Promise<ListResult> {
    const request: Request = {
      verb: "list",
      resource: resourceName(resource),
      at: this.#now,
      options: withoutReport(options),
    };
    this.beforePage(request);
    return this.#answer(request, () => {
      signal.throwIfAborted();
      const [version, offset] = (options.continue ?? `${this.#version}:0`).split(":").map(Number) as [number, number];
      if (Number(options.resourceVersion ?? 0) > this.#version) {
        throw apiError("list", 504, "Timeout", [{ reason: "ResourceVersionTooLarge", message: "" }]);
      }
      if (options.resourceVersion === undefined) this.#progress.set(request.resource, this.#version);
      if (offset === 0) this.#snapshots.set(version, [...this.#objects.values()]);
      const snapshot = this.#snapshots.get(version);
      if (!snapshot) throw expired("list");
      const all = snapshot.filter((object) => object.kind === resource.kind && isSelected(object, options));
      const end = options.limit === undefined ? all.length : offset + options.limit;
      const page = all.slice(offset, end);
      const unusable = page.filter(({ metadata }) => this.unread.has(metadata.name));
      for (const object of page) if (!unusable.includes(object)) each(object as T);
      return {
        resourceVersion: String(version),
        continue: end < all.length ? `${version}:${end}` : undefined,
        items: all.length,
        rejectedItems: this.unusable.length + unusable.length,
        rejected: [...this.unusable, ...unusable.map(({ metadata }) => metadata.name)],
        unusable: unusable.map((identity) => ({ identity, why: identity.metadata.name })),
      };
    });
  }

  watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    const request: Request = {
      verb: "watch",
      resource: resourceName(resource),
      at: this.#now,
      options: withoutReport(options),
    };
    return this.#answer(request, () => {
      const from = Number(options.resourceVersion);
      const watch = new FakeWatch(this.#clock, request, signal, options.arrived);
      this.watches.push(watch);
      if (!this.arrivesWhole) watch.freeze();
      if (from < this.#compacted) watch.say({ type: "ERROR", error: expired("watch") });
      else for (const revision of this.#history) if (revision.version > from) this.#send(watch, revision);
      if (this.sendsBookmarks) watch.remind(() => this.#bookmarkAfter(from, request.resource));
      return watch.events() as AsyncIterable<WatchEvent<T>>;
    });
  }

  #bookmarkAfter(from: number, resource: string): string | undefined {
    const known = this.knowsProgress ? this.#version : (this.#progress.get(resource) ?? 0);
    return this.knowsProgress || known > from ? String(known) : undefined;
  }

  get #now(): number {
    return elapsed({ mono: 1_000_000, wall: 0 }, this.#clock.now());
  }

  async #answer<Answer>(request: Request, answer: () => Answer): Promise<Answer> {
    this.requests.push(request);
    const at = this.#failures.findIndex(({ verb, unless }) => verb === request.verb && !unless(request));
    if (at >= 0) throw this.#failures.splice(at, 1)[0]?.error;
    return answer();
  }

  #record(revision: Revision): void {
    this.#history.push(revision);
    this.#progress.set(revision.resource, revision.version);
    for (const watch of this.watches) if (watch.isOpen) this.#send(watch, revision);
  }

  #send(watch: FakeWatch, { resource, before, after, version }: Revision): void {
    if (resource !== watch.request.resource) return;
    const was = before && isSelected(before, watch.request.options);
    const is = after && isSelected(after, watch.request.options);
    if (after && is) watch.say({ type: was ? "MODIFIED" : "ADDED", object: after });
    else if (before && was) {
      const metadata = { ...before.metadata, resourceVersion: String(version) };
      watch.say({ type: "DELETED", object: { ...before, metadata } });
    }
  }
}

/** One open watch, as the server sees it. */
export class FakeWatch {
  readonly request: Request;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #arrived: (bytes: number) => void;
  readonly #waiting: WatchEvent<KubeObject>[] = [];
  #wake: () => void = () => {};
  #end: { readonly error: unknown } | undefined;
  #isFrozen = false;
  #held: WatchEvent<KubeObject>[] | undefined;
  isOpen = true;
  /** How many events the client has taken. */
  taken = 0;

  constructor(clock: Clock, request: Request, signal: AbortSignal, arrived: WatchOptions["arrived"] = () => {}) {
    this.#arrived = arrived;
    this.#clock = clock;
    this.request = request;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.break(signal.reason), { once: true });
    clock.after((request.options.timeoutSeconds ?? 0) * 1000, () => this.close());
  }

  /** Part of an event arrives. */
  dribble(bytes: number): void {
    if (this.isOpen) this.#arrived(bytes);
  }

  say(event: WatchEvent<KubeObject>): void {
    if (this.#isFrozen || this.#end) return;
    if (this.#held) {
      this.#held.push(event);
      return;
    }
    this.#waiting.push(event);
    this.#wake();
  }

  /** What is said comes late: when the answer is called. */
  delay(): () => void {
    const held: WatchEvent<KubeObject>[] = [];
    this.#held = held;
    return () => {
      this.#held = undefined;
      for (const event of held) this.say(event);
    };
  }

  /** A bookmark once a minute, or where the watch is shorter 2 s before its end, as the API server sends them. */
  remind(version: () => string | undefined): void {
    const beforeEnd = (this.request.options.timeoutSeconds ?? 0) * 1000 - 2000;
    this.#clock.after(beforeEnd > 0 ? Math.min(60_000, beforeEnd) : 60_000, () => {
      if (!this.isOpen) return;
      const resourceVersion = version();
      if (resourceVersion !== undefined) this.say({ type: "BOOKMARK", resourceVersion });
      this.remind(version);
    });
  }

  close(): void {
    if (this.#isFrozen) return;
    this.break(undefined);
  }

  /** The connection breaks; without an error it just ends. */
  break(error: unknown): void {
    this.isOpen = false;
    this.#end ??= { error };
    this.#wake();
  }

  /** The other side is gone without a word: nothing comes any more, and nothing ends. */
  freeze(): void {
    this.#isFrozen = true;
  }

  async *events(): AsyncGenerator<WatchEvent<KubeObject>, void, void> {
    try {
      for (;;) {
        this.#signal.throwIfAborted();
        const event = this.#waiting.shift();
        if (event) {
          this.taken++;
          this.#arrived(500);
          yield event;
        } else if (this.#end) {
          if (this.#end.error !== undefined) throw this.#end.error;
          return;
        } else {
          const { promise, resolve } = Promise.withResolvers<void>();
          this.#wake = resolve;
          await promise;
        }
      }
    } finally {
      this.isOpen = false;
    }
  }
}

export const apiError = (
  verb: "get" | "list" | "watch",
  status: number,
  reason: string,
  causes: readonly { readonly reason: string; readonly message: string }[] = [],
): ApiError => new ApiError({ verb, target: "things" }, { status, reason, message: reason, causes });

export const expired = (verb: "list" | "watch"): ApiError => apiError(verb, 410, "Expired");
export const refused = (verb: "get" | "list" | "watch"): ApiError => apiError(verb, 0, "ConnectionRefused");

function isSelected(object: KubeObject, { namespace, labelSelector, fieldSelector }: Selector): boolean {
  const [label, value] = labelSelector?.split("=") ?? [];
  const [, board] = fieldSelector?.split("=") ?? [];
  const spec = "spec" in object ? (object.spec as { readonly nodeName?: string } | undefined) : undefined;
  return (
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (label === undefined || object.metadata.labels?.[label] === value) &&
    (board === undefined || (spec?.nodeName ?? "") === board)
  );
}

/** The options without the callbacks that every reflector passes. */
const withoutReport = <Options extends Refusable & Partial<Pick<WatchOptions, "arrived">>>({
  refused: _,
  arrived: __,
  ...options
}: Options): Omit<Options, "refused" | "arrived"> => options;
