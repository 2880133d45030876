import type { Change } from "../../storage/object.ts";
import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Instant } from "../base/clock.ts";
import type { InformerStats } from "./informer-stats.ts";
import type { Lister } from "./lister.ts";
import type { WatchHealth } from "./watch-health.ts";

/**
 * A change as listeners see it. `released`: the object left our selection and, as far as we know, still exists. It was
 * dropped from the cache; listeners may conclude only that it is no longer ours.
 */
export interface Notice<T> extends Change<T> {
  readonly released?: true;
}

/**
 * Called synchronously with at most 64 changes; it enqueues keys and does no work. If even that takes longer than a
 * turn of the event loop, it returns a promise: listeners get no further changes until it resolves.
 */
export type Listen<T> = (changes: readonly Notice<T>[]) => unknown;

/** The cache of one resource and the watch that updates it, shared by all its users. */
export interface Informer<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly lister: Lister<T>;
  /** The cache holds at least the first list, and listeners got it. Once true it stays true. */
  readonly hasSynced: boolean;
  /** The cache is no older than the current run: changes from before it have been handled. */
  readonly isCurrent: boolean;
  readonly health: WatchHealth;
  /** The returned function removes the listener. */
  onChange(listen: Listen<T>): () => void;
  /** Updates the cache until the signal aborts. May be run again: it continues from the stored position. */
  run(signal: AbortSignal): Promise<void>;
  /** For a run that was ended on purpose at that instant: the pause until the next run is not an outage. */
  pause(since: Instant): void;
  /** Writes everything that is only in memory: heartbeats, the position. */
  flush(): void;
  /** Stores the proof of the stored position if it was not known when the position was stored. */
  settle(): void;
  /** Drops decoded objects that are cached only to avoid decoding them again. */
  shed(): void;
  stats(): InformerStats;
}
