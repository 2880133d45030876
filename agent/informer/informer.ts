import type { Change } from "../../storage/object.ts";
import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Instant } from "../base/clock.ts";
import type { InformerStats } from "./informer-stats.ts";
import type { Lister } from "./lister.ts";
import type { WatchHealth } from "./watch-health.ts";

/**
 * A change as passed to listeners. `released`: the object left the selection and was dropped from the cache, but may
 * still exist, so listeners must not treat it as deleted.
 */
export interface InformerEvent<T> extends Change<T> {
  readonly released?: true;
}

/**
 * A listener, called synchronously with at most 64 changes. It enqueues keys and does no work. If even that takes long,
 * it returns a promise, and no listener is called again until that resolves.
 */
export type Listen<T> = (changes: readonly InformerEvent<T>[]) => unknown;

/** A watch and the cache that it updates: a whole informer, or one of several that an informer consists of. */
export type InformerPart = Pick<Informer<KubeObject>, "health" | "isCurrent">;

/** The cache of one resource and the watch that updates it, shared by all its users. */
export interface Informer<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly lister: Lister<T>;
  /** Whether the cache holds at least the first list, and listeners have received it. Never becomes false again. */
  readonly hasSynced: boolean;
  /**
   * Whether the cache includes everything that happened before the current run began, and listeners have received it.
   */
  readonly isCurrent: boolean;
  readonly health: WatchHealth;
  /** The resourceVersion up to which everything is in the cache; undefined if unknown. */
  readonly position: string | undefined;
  /** The individual watches of this informer; its `health` and `isCurrent` are those of all together. */
  readonly parts: readonly InformerPart[];
  /** Adds a listener. The returned function removes it. */
  onChange(listen: Listen<T>): () => void;
  /** Updates the cache until the signal aborts. May be called again; it then continues from the stored position. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Reports that the last run was ended deliberately at this instant, so that the time until the next run is not an
   * outage.
   */
  pause(since: Instant): void;
  /** Writes what is only in memory: heartbeats and the position. */
  flush(): void;
  /** Stores the proof of the stored position if the proof became known only after the position was stored. */
  storeProof(): void;
  /** Frees memory: drops decoded objects, which are decoded again when needed. */
  shed(): void;
  stats(): InformerStats;
}
