import { type KubeObject, placeIn } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Instant } from "../base/clock.ts";
import { isOfOneObject } from "../base/errors.ts";
import { atOnce, type Steps } from "../base/steps.ts";
import { isNotFound } from "../client/api-error.ts";
import type { RequestWait } from "../client/kube-client.ts";
import type { Lister } from "../informer/lister.ts";
import type { WatchHealth } from "../informer/watch-health.ts";
import type { ObjectChange, SiteView } from "./controller.ts";
import type { FairTurns } from "./fair-turns.ts";

/** The cache of one resource, as controllers use it. Informers implement it. */
export interface Cache<T> {
  readonly lister: Lister<T>;
  readonly health: WatchHealth;
  /** The resourceVersion up to which everything is in the cache; undefined if not known. */
  readonly position: string | undefined;
  /**
   * Calls back with every group of changes, in order, until the returned function is called. If a callback returns a
   * promise, the next group waits for it.
   */
  onChange(listen: (changes: readonly ObjectChange<T>[]) => unknown): () => void;
}

/** The caches of the site. An InformerSet implements it. */
export interface Caches {
  informer<T extends KubeObject>(resource: Resource<T>): Cache<T>;
}

/** Reads objects from the API server. A KubeClient implements it. */
export interface ApiReader {
  get<T extends KubeObject>(
    resource: Resource<T>,
    at: { namespace?: string; name: string },
    signal: AbortSignal,
    waiting?: RequestWait,
  ): Promise<T>;
}

/**
 * The parameters of a pass. After `patience` aborts, the pass does not begin another request; if undefined, only
 * `signal` ends it.
 */
export interface PassView extends RequestWait {
  readonly now: Instant;
  readonly signal: AbortSignal;
  /** Shares the thread with other passes; undefined if steps run without a break. */
  readonly turns?: FairTurns;
  /** Receives the error of each failed read of a single object, because the pass may continue without that object. */
  readonly unread?: (error: unknown) => void;
}

/** The site as a pass reads it: from the caches and, where necessary, from the API server. */
export class CachedSiteView implements SiteView {
  readonly now: Instant;
  readonly #caches: Caches;
  readonly #client: ApiReader;
  readonly #pass: PassView;

  constructor({ caches, client }: { readonly caches: Caches; readonly client: ApiReader }, pass: PassView) {
    this.now = pass.now;
    this.#caches = caches;
    this.#client = client;
    this.#pass = pass;
  }

  lister<T extends KubeObject>(resource: Resource<T>): Lister<T> {
    return this.#caches.informer(resource).lister;
  }

  async fetch<T extends KubeObject>(resource: Resource<T>, key: string): Promise<T | undefined> {
    try {
      return await this.#client.get(resource, placeIn(key), this.#pass.signal, this.#pass);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (isOfOneObject(error)) this.#pass.unread?.(error);
      throw error;
    }
  }

  inTurns<T>(steps: Steps<T>): T | Promise<T> {
    const { turns, lane = "boards", signal } = this.#pass;
    return turns ? turns.run(steps, lane, signal) : atOnce(steps);
  }

  watch(resource: Resource<KubeObject>): WatchHealth {
    return this.#caches.informer(resource).health;
  }

  position(resource: Resource<KubeObject>): string | undefined {
    return this.#caches.informer(resource).position;
  }
}
