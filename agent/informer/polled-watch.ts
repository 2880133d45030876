import { type KubeObject, keyOf } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import { type Clock, type Millis, sleep } from "../base/clock.ts";
import type { ListOptions, ListResult, PageInLine, WatchOptions } from "../client/kube-client.ts";
import type { WatchEvent } from "../client/watch-stream.ts";
import type { Lister } from "./lister.ts";
import type { ReflectorClient } from "./reflector-parts.ts";

export interface PolledWatchParts {
  readonly client: ReflectorClient;
  /** Between two polls. */
  readonly period: Millis;
  readonly pageSize: number;
  /** The current mirror; a poll reports how the server differs from it. */
  readonly mirrored: () => Lister<KubeObject>;
  /** Objects for which it is false are not mirrored. */
  readonly admits?: ((object: KubeObject) => boolean) | undefined;
}

/**
 * Polls with lists in place of a watch, and gives the Reflector the events of a watch: changes, deletions, and after
 * each list a bookmark with its position.
 *
 * Used for the Leases of boards: a watch delivers every renewal, which on a metered link is most of an idle site's
 * traffic. Seeing a renewal late only delays the start of a silence. Each list is a consistent read of the newest
 * state, so it proves as much as an event does.
 */
export class PolledWatch implements ReflectorClient {
  readonly #clock: Clock;
  readonly #parts: PolledWatchParts;

  constructor(clock: Clock, parts: PolledWatchParts) {
    this.#clock = clock;
    this.#parts = parts;
  }

  list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
    signal: AbortSignal,
    inLine?: PageInLine,
  ): Promise<ListResult> {
    return this.#parts.client.list(resource, options, each, signal, inLine);
  }

  /** Returns once the first poll was answered, as a watch does. It never ends by itself. */
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
      yield* this.#look(resource, selection, signal);
      await sleep(this.#clock, this.#parts.period, signal);
    }
  }

  async *#look<T extends KubeObject>(
    resource: Resource<T>,
    selection: ListOptions,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>, void, void> {
    const { client, pageSize, mirrored } = this.#parts;
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
      isWhole &&= page.rejectedItems === 0;
      [next, position] = [page.continue, page.resourceVersion];
    } while (next !== undefined);
    // An unreadable object is not deleted, and its key is unknown.
    if (isWhole) {
      for (const object of mirrored().list()) {
        // Objects mirrored under a resource's name are of its type.
        if (!listed.has(keyOf(object))) yield { type: "DELETED", object: object as T };
      }
    }
    yield { type: "BOOKMARK", resourceVersion: position };
  }

  #change<T extends KubeObject>(object: T): WatchEvent<T> | undefined {
    const { mirrored, admits } = this.#parts;
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
