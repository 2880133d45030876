import type { Change } from "../../storage/object.ts";
import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Instant } from "../base/clock.ts";
import type { InformerStats } from "./informer-stats.ts";
import type { Lister } from "./lister.ts";
import type { WatchHealth } from "./watch-health.ts";

/**
 * A change as listeners see it. `released`: it is gone from our selection, and for all we know it still exists. It was
 * dropped from the cache; nothing may be concluded from it but that it is no longer ours.
 */
export interface Notice<T> extends Change<T> {
  readonly released?: true;
}

/**
 * Called synchronously with at most 64 changes. It notes what to look at and does no work. Where even that takes longer than
 * a turn of the event loop it answers a promise: listeners are told nothing more before that is over.
 */
export type Listen<T> = (changes: readonly Notice<T>[]) => unknown;

/** The cache of one resource and what keeps it true, shared by all who ask. */
export interface Informer<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly lister: Lister<T>;
  /** The cache holds at least what the first list held, and listeners were told. Once true it stays true. */
  readonly hasSynced: boolean;
  /** The cache is no older than the present run: what happened while nobody listened has been handled. */
  readonly isCurrent: boolean;
  readonly health: WatchHealth;
  /** What it returns ends the listening. */
  onChange(listen: Listen<T>): () => void;
  /** Keeps the cache true until the signal aborts. May be run again later: it goes on from the stored position. */
  run(signal: AbortSignal): Promise<void>;
  /** After a run that was ended on purpose, at that instant: the pause until the next one is not taken for an outage. */
  pause(since: Instant): void;
  /** Writes what is only in memory: heartbeats, the position. */
  flush(): void;
  /** Stores what proves the stored position, where that was not known yet when the position was stored. */
  settle(): void;
  /** Lets go of what is kept in memory only so that it need not be decoded again. */
  shed(): void;
  stats(): InformerStats;
}
