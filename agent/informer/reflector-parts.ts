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

/** What a Reflector needs of a DeltaFIFO. `resourceVersion`: where to resume; undefined: it was never filled. */
export interface ReflectorStore<T> extends DeltaSink<T>, ReplaceableStore<T> {
  readonly resourceVersion: string | undefined;
  readonly depth: number;
}

/** What a Reflector needs of the KubeClient. */
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
  /** Drops what nobody reads. May run more than once on an object. */
  readonly trim: (object: T) => T;
  /** Objects for which it is false are not kept. */
  readonly admits?: ((object: T) => boolean) | undefined;
  readonly pageSize: number;
  readonly limits: WatchLimits;
  readonly turns: ListTurns;
  /** False: nobody acts on what is mirrored here at present, and a watch that broke may come back a little later. */
  readonly isUrgent?: (() => boolean) | undefined;
  /** What proves the stored position; without it, the position is taken as it is. */
  readonly proof?: PositionProof | undefined;
  /** When the streams of this board go back to a server that they lost; without it, each at its own pace. */
  readonly comeback?: ReconnectScheduler | undefined;
  /** Something new lies in the store. */
  readonly stored: () => void;
}

/** What became of the watch, for the status. */
export interface ReflectorStats {
  readonly lists: number;
  readonly watches: number;
  readonly rejected: Rejected;
  /** Why the last try failed, with what to do about it; gone as soon as a list or watch works. */
  readonly problem: string | undefined;
}
