import type { KubeObject } from "../api/meta.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Millis, nextTurn } from "../base/clock.ts";
import type { Seen, SiteView, Wake } from "./controller.ts";
import { isFatal } from "./reaction.ts";
import type { Caches } from "./site-view.ts";
import type { WorkQueue } from "./work-queue.ts";

/** The event loop is not kept for longer than about this while all objects of a cache are gone through. */
const slice: Millis = 20;

/** Turns changes of the caches into keys of one controller's queue. */
export class Waker {
  readonly #ambient: Ambient;
  readonly #caches: Caches;
  readonly #queue: WorkQueue;
  readonly #site: () => SiteView;
  /** A resource is gone through once, however many wakes listen to it. */
  readonly #wakes = new Map<Resource<KubeObject>, Wake[]>();

  constructor(
    ambient: Ambient,
    parts: {
      readonly wakes: readonly Wake[];
      readonly caches: Caches;
      readonly queue: WorkQueue;
      readonly site: () => SiteView;
    },
  ) {
    this.#ambient = ambient;
    this.#caches = parts.caches;
    this.#queue = parts.queue;
    this.#site = parts.site;
    for (const wake of parts.wakes) this.#wakes.set(wake.on, [...(this.#wakes.get(wake.on) ?? []), wake]);
  }

  /** Every change from now on wakes its keys, until the answer is called. */
  listen(): () => void {
    const ends = [...this.#wakes].map(([resource, wakes]) =>
      this.#caches.informer(resource).onChange((changes) => {
        const site = this.#site();
        for (const change of changes) this.#wake(wakes, change, site);
      }),
    );
    return () => {
      for (const end of ends) end();
    };
  }

  /** Every cached object wakes its keys once. Changes that come meanwhile are heard by `listen`. */
  async sweep(swept: true | "again", signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    let started = clock.now();
    for (const [resource, all] of this.#wakes) {
      const wakes = all.filter(({ onlyOnChange }) => !onlyOnChange);
      if (wakes.length === 0) continue;
      const site = this.#site();
      for (const after of this.#caches.informer(resource).lister.list()) {
        const { namespace, name } = after.metadata;
        const key = namespace === undefined ? name : `${namespace}/${name}`;
        this.#wake(wakes, { key, before: undefined, after, swept }, site);
        if (elapsed(started, clock.now()) < slice) continue;
        await nextTurn();
        if (signal.aborted) return;
        started = clock.now();
      }
    }
  }

  /**
   * A rule that fails on one object must not keep the others, nor other controllers, from hearing of theirs. A cache that
   * cannot be read is no failure of a rule: whom it would have woken is never known.
   */
  #wake(wakes: readonly Wake[], change: Seen<KubeObject>, site: SiteView): void {
    for (const wake of wakes) {
      try {
        const delay = change.swept ? 0 : (wake.after ?? 0);
        const isUrgent = wake.isUrgent?.(change) === true;
        for (const key of wake.keys(change, site)) {
          if (isUrgent) this.#queue.prefer(key);
          this.#queue.addAfter(key, delay);
        }
      } catch (error) {
        if (isFatal(error)) throw error;
        const stack = error instanceof Error ? error.stack : undefined;
        this.#ambient.log.error("a change wakes nobody", {
          resource: resourceName(wake.on),
          object: change.key,
          error,
          stack,
        });
      }
    }
  }
}
