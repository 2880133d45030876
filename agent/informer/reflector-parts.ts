import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { WatchOptions } from "../client/kube-client.ts";
import type { WatchEvent } from "../client/watch-stream.ts";
import type { DeltaSink } from "./delta-group.ts";
import type { ListTurns } from "./list-turns.ts";
import type { ListingClient } from "./pages.ts";
import type { ReconnectScheduler } from "./reconnect-scheduler.ts";
import type { Rejected } from "./rejections.ts";
import type { ReplaceableStore } from "./replace-by-pages.ts";
import type { Selection } from "./scope.ts";
import type { WatchLimits } from "./watch-health.ts";
import type { PositionProof } from "./watch-resumption.ts";

/**
 * The part of a DeltaFIFO that a Reflector uses. `resourceVersion`: where to resume; undefined if it was never filled.
 */
export interface ReflectorStore<T> extends DeltaSink<T>, ReplaceableStore<T> {
  readonly resourceVersion: string | undefined;
  readonly depth: number;
}

/** The part of the KubeClient that a Reflector uses. */
export interface ReflectorClient extends ListingClient {
  watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<WatchEvent<T>>>;
}

export interface ReflectorParts<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly selection: Selection;
  readonly client: ReflectorClient;
  readonly store: ReflectorStore<T>;
  /** Drops fields that no controller reads. May run more than once on an object. */
  readonly trim: (object: T) => T;
  /** Objects for which it is false are not kept. */
  readonly admits?: ((object: T) => boolean) | undefined;
  readonly pageSize: number;
  readonly limits: WatchLimits;
  readonly turns: ListTurns;
  /** False: this board does not act on the mirror at present, and a broken watch may reconnect a little later. */
  readonly isUrgent?: (() => boolean) | undefined;
  /** Proves the stored position; without it, the position is trusted. */
  readonly proof?: PositionProof | undefined;
  /** Schedules when the streams return to a lost server; without it, each follows its own backoff. */
  readonly comeback?: ReconnectScheduler | undefined;
  /** The store holds new deltas. */
  readonly stored: () => void;
}

/** The state of the watch, for the status. */
export interface ReflectorStats {
  readonly lists: number;
  readonly watches: number;
  readonly rejected: Rejected;
  /** Why the last attempt failed, with what to do about it; cleared as soon as a list or watch works. */
  readonly problem: string | undefined;
}
