import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Instant } from "../base/clock.ts";
import { atOnce, type Steps } from "../base/steps.ts";
import { isNotFound } from "../client/api-error.ts";
import type { Waiting } from "../client/kube-client.ts";
import type { Lister } from "../informer/lister.ts";
import type { WatchHealth } from "../informer/watch-health.ts";
import type { Seen, SiteView } from "../loop/controller.ts";
import type { FairTurns } from "../loop/fair-turns.ts";

/** One resource's cache and its changes, as controllers use them. A SharedInformer is one. */
export interface Cache<T> {
  readonly lister: Lister<T>;
  readonly health: WatchHealth;
  /**
   * Calls back with every group of changes, in order, until the returned function is called. If a callback returns a
   * promise, the next group waits for it.
   */
  onChange(listen: (changes: readonly Seen<T>[]) => unknown): () => void;
}

/** The caches of the site. An InformerSet is one. */
export interface Caches {
  informer<T extends KubeObject>(resource: Resource<T>): Cache<T>;
}

/** Reads past the caches. A KubeClient is one. */
export interface Reader {
  get<T extends KubeObject>(
    resource: Resource<T>,
    at: { namespace?: string; name: string },
    signal: AbortSignal,
    waiting?: Waiting,
  ): Promise<T>;
}

/** The parameters of a pass. After `patience` aborts it asks nothing more; undefined: `signal` alone counts. */
export interface PassView extends Waiting {
  readonly now: Instant;
  readonly signal: AbortSignal;
  /** Undefined: steps run at once. */
  readonly turns?: FairTurns;
}

/** The site as one pass sees it. */
export class CachedSiteView implements SiteView {
  readonly now: Instant;
  readonly #caches: Caches;
  readonly #client: Reader;
  readonly #pass: PassView;

  constructor({ caches, client }: { readonly caches: Caches; readonly client: Reader }, pass: PassView) {
    this.now = pass.now;
    this.#caches = caches;
    this.#client = client;
    this.#pass = pass;
  }

  lister<T extends KubeObject>(resource: Resource<T>): Lister<T> {
    return this.#caches.informer(resource).lister;
  }

  async fetch<T extends KubeObject>(resource: Resource<T>, key: string): Promise<T | undefined> {
    const slash = key.indexOf("/");
    const at = slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
    try {
      return await this.#client.get(resource, at, this.#pass.signal, this.#pass);
    } catch (error) {
      if (isNotFound(error)) return undefined;
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
}
