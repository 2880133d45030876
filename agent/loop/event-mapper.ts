import { type KubeObject, keyOf } from "../api/meta.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Lane } from "../base/concurrency/lanes.ts";
import { isFatal } from "../base/reaction.ts";
import type { Steps } from "../base/steps.ts";
import type { Lister } from "../informer/lister.ts";
import type { Seen, SiteView, WatchSpec } from "./controller.ts";
import type { FairTurns } from "./fair-turns.ts";
import type { Caches } from "./site-view.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface EventMapperDeps {
  readonly wakes: readonly WatchSpec[];
  readonly caches: Caches;
  readonly queue: WorkQueue;
  readonly site: () => SiteView;
  /**
   * Shares the event loop, because one change may concern thousands of keys, and many changes may arrive at the same
   * time.
   */
  readonly turns: FairTurns;
  readonly lane: Lane;
  readonly signal: AbortSignal;
}

/** Maps changes of the caches to keys of one controller's queue. */
export class EventMapper {
  readonly #ambient: Ambient;
  readonly #deps: EventMapperDeps;
  /** The watch specs by resource, so that a sweep reads each resource once. */
  readonly #wakes = new Map<Resource<KubeObject>, WatchSpec[]>();

  constructor(ambient: Ambient, deps: EventMapperDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    for (const wake of deps.wakes) this.#wakes.set(wake.on, [...(this.#wakes.get(wake.on) ?? []), wake]);
  }

  /** Adds the keys of every change to the queue, until the returned function is called. */
  listen(): () => void {
    const { caches } = this.#deps;
    const ends = [...this.#wakes].map(([resource, wakes]) =>
      caches.informer(resource).onChange((changes) => this.#wakeAll(wakes, changes)),
    );
    return () => {
      for (const end of ends) end();
    };
  }

  /** Adds the keys of every cached object to the queue. `listen` handles changes that arrive during the sweep. */
  async sweep(swept: "first" | "again"): Promise<void> {
    const { caches, signal } = this.#deps;
    for (const [resource, all] of this.#wakes) {
      const wakes = all.filter(({ onlyOnChange }) => !onlyOnChange);
      if (wakes.length > 0) await this.#wakeAll(wakes, sweptOf(caches.informer(resource).lister, swept));
      if (signal.aborted) return;
    }
  }

  /**
   * Adds the keys of these changes. If the term ends first, nothing is missed, because the next term sweeps everything.
   */
  #wakeAll(wakes: readonly WatchSpec[], changes: Iterable<Seen<KubeObject>>): Promise<void> | undefined {
    const { turns, lane, signal } = this.#deps;
    const rest = turns.run(this.#steps(wakes, changes), lane, signal);
    return rest?.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  *#steps(wakes: readonly WatchSpec[], changes: Iterable<Seen<KubeObject>>): Steps<undefined> {
    const site = this.#deps.site();
    for (const change of changes) {
      for (const wake of wakes) yield* this.#wake(wake, change, site);
      yield;
    }
    return undefined;
  }

  /**
   * Adds the keys of one change. An error is logged, so that it does not affect other objects and controllers. An
   * unreadable cache is fatal, because the keys are then unknown.
   */
  *#wake(wake: WatchSpec, change: Seen<KubeObject>, site: SiteView): Steps<undefined> {
    const { queue } = this.#deps;
    try {
      const delay = change.swept ? 0 : (wake.after ?? 0);
      const isUrgent = wake.isUrgent?.(change) === true;
      for (const key of wake.keys(change, site)) {
        if (key !== undefined) {
          if (isUrgent) queue.prefer(key);
          queue.addAfter(key, delay);
        }
        yield;
      }
    } catch (error) {
      if (isFatal(error)) throw error;
      const stack = error instanceof Error ? error.stack : undefined;
      this.#ambient.log.error("mapping a change to keys failed", {
        resource: resourceName(wake.on),
        object: change.key,
        error,
        stack,
      });
    }
    return undefined;
  }
}

function* sweptOf(lister: Lister<KubeObject>, swept: "first" | "again"): Generator<Seen<KubeObject>> {
  for (const after of lister.list()) yield { key: keyOf(after), before: undefined, after, swept };
}
