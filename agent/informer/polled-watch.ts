import { type KubeObject, keyOf } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import { type Clock, type Millis, sleep } from "../base/clock.ts";
import type { ListOptions, ListResult, PageInLine, WatchOptions } from "../client/kube-client.ts";
import type { WatchEvent } from "../client/watch-stream.ts";
import type { ReflectorClient } from "./informer-client.ts";
import type { Lister } from "./lister.ts";

export interface PolledWatchDeps {
  readonly client: ReflectorClient;
  /** Pause between two polls. */
  readonly period: Millis;
  readonly pageSize: number;
  /** The current cache; a poll reports where the server differs from it. */
  readonly mirrored: () => Lister<KubeObject>;
  /** False for objects that are not kept in the cache. Default: all are. */
  readonly admits?: ((object: KubeObject) => boolean) | undefined;
}

/**
 * Polls with lists instead of watching, and gives the Reflector the events of a watch: changes, deletions, and after
 * each list a bookmark with its resourceVersion.
 *
 * Used for the Leases of boards, because a watch would deliver every renewal, which is most of the traffic of an idle
 * site. Reading a renewal late only delays the moment when a board counts as silent. Each list is a consistent read of
 * the newest state, so it proves as much as an event.
 */
export class PolledWatch implements ReflectorClient {
  readonly #clock: Clock;
  readonly #deps: PolledWatchDeps;

  constructor(clock: Clock, deps: PolledWatchDeps) {
    this.#clock = clock;
    this.#deps = deps;
  }

  list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
    inLine?: PageInLine,
  ): Promise<ListResult> {
    return this.#deps.client.list(resource, options, each, signal, inLine);
  }

  /** Resolves once the first poll has been answered. The stream of events never ends by itself. */
  async watch<T extends KubeObject>(
    resource: Resource<T>,
    { resourceVersion, timeoutSeconds, ...selection }: WatchOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent<T>>> {
    const events = this.#events(resource, selection, signal);
    return startingWith(await events.next(), events);
  }

  async *#events<T extends KubeObject>(
    resource: Resource<T>,
    selection: ListOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void, void> {
    while (!signal.aborted) {
      yield* this.#poll(resource, selection, signal);
      await sleep(this.#clock, this.#deps.period, signal);
    }
  }

  async *#poll<T extends KubeObject>(
    resource: Resource<T>,
    selection: ListOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void, void> {
    const { client, pageSize, mirrored } = this.#deps;
    const listed = new Set<string>();
    let isWhole = true;
    let next: string | undefined;
    let position: string;
    do {
      const changed: WatchEvent<T>[] = [];
      const each = (object: T): void => {
        listed.add(keyOf(object));
        const event = this.#change(object);
        if (event) changed.push(event);
      };
      const options = { ...selection, limit: pageSize, ...(next !== undefined && { continue: next }) };
      const page = await client.list(resource, options, each, signal);
      yield* changed;
      for (const why of page.rejected) yield { type: "REJECTED", why, resourceVersion: undefined };
      for (const { identity } of page.unusable ?? []) listed.add(keyOf(identity));
      isWhole &&= page.rejectedItems === (page.unusable?.length ?? 0);
      [next, position] = [page.continue, page.resourceVersion];
    } while (next !== undefined);
    // If the list has an unreadable object whose key is unknown, a missing key does not prove a deletion.
    if (isWhole) {
      for (const object of mirrored().list()) {
        // Objects mirrored under a resource's name are of its type.
        if (!listed.has(keyOf(object))) yield { type: "DELETED", object: object as T };
      }
    }
    yield { type: "BOOKMARK", resourceVersion: position };
  }

  #change<T extends KubeObject>(object: T): WatchEvent<T> | undefined {
    const { mirrored, admits } = this.#deps;
    const known = mirrored().get(keyOf(object))?.metadata;
    if (known === undefined) return admits?.(object) === false ? undefined : { type: "ADDED", object };
    const isSame = known.uid === object.metadata.uid && known.resourceVersion === object.metadata.resourceVersion;
    return isSame ? undefined : { type: "MODIFIED", object };
  }
}

async function* startingWith<E>(first: IteratorResult<E, void>, rest: AsyncIterable<E>): AsyncGenerator<E, void, void> {
  if (first.done) return;
  yield first.value;
  yield* rest;
}
