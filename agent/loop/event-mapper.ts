import { type KubeObject, keyOf } from "../api/meta.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Lane } from "../base/concurrency/lanes.ts";
import { isFatal } from "../base/reaction.ts";
import type { Steps } from "../base/steps.ts";
import type { Lister } from "../informer/lister.ts";
import type { EnqueueMapping, ObjectChange, SiteView } from "./controller.ts";
import type { FairTurns } from "./fair-turns.ts";
import type { Caches } from "./site-view.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface EventMapperDeps {
  readonly mappings: readonly EnqueueMapping[];
  readonly caches: Caches;
  readonly queue: WorkQueue;
  readonly site: () => SiteView;
  /**
   * Shares the event loop, because one change may concern thousands of keys, and many changes may arrive at the same
   * time.
   */
  readonly turns: FairTurns;
  /** For resyncs. */
  readonly lane: Lane;
  readonly changesLane: Lane;
  readonly signal: AbortSignal;
}

/** Maps changes of the caches to keys of one controller's queue. */
export class EventMapper {
  readonly #ambient: Ambient;
  readonly #deps: EventMapperDeps;
  /** The mappings by resource, so that a resync reads each resource once. */
  readonly #mappings = new Map<Resource<KubeObject>, EnqueueMapping[]>();

  constructor(ambient: Ambient, deps: EventMapperDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    for (const mapping of deps.mappings)
      this.#mappings.set(mapping.on, [...(this.#mappings.get(mapping.on) ?? []), mapping]);
  }

  /** Adds the keys of every change to the queue, until the returned function is called. */
  listen(): () => void {
    const { caches } = this.#deps;
    const ends = [...this.#mappings].map(([resource, mappings]) =>
      caches.informer(resource).onChange((changes) => this.#enqueueAll(mappings, changes, this.#deps.changesLane)),
    );
    return () => {
      for (const end of ends) end();
    };
  }

  /** Adds the keys of every cached object to the queue. `listen` handles changes that arrive during the resync. */
  async resync(kind: "first" | "again"): Promise<void> {
    const { caches, lane, signal } = this.#deps;
    for (const [resource, all] of this.#mappings) {
      const mappings = all.filter(({ onlyOnChange }) => !onlyOnChange);
      if (mappings.length > 0) await this.#enqueueAll(mappings, resyncOf(caches.informer(resource).lister, kind), lane);
      if (signal.aborted) return;
    }
  }

  /**
   * Adds the keys of these changes. If the term ends first, nothing is missed, because the next term resyncs
   * everything.
   */
  #enqueueAll(
    mappings: readonly EnqueueMapping[],
    changes: Iterable<ObjectChange<KubeObject>>,
    lane: Lane,
  ): Promise<void> | undefined {
    const { turns, signal } = this.#deps;
    const rest = turns.run(this.#steps(mappings, changes), lane, signal);
    return rest?.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  *#steps(mappings: readonly EnqueueMapping[], changes: Iterable<ObjectChange<KubeObject>>): Steps<undefined> {
    const site = this.#deps.site();
    for (const change of changes) {
      for (const mapping of mappings) yield* this.#enqueue(mapping, change, site);
      yield;
    }
    return undefined;
  }

  /**
   * Adds the keys of one change. An error is logged, so that it does not affect other objects and controllers. An
   * unreadable cache is fatal, because the keys are then unknown.
   */
  *#enqueue(mapping: EnqueueMapping, change: ObjectChange<KubeObject>, site: SiteView): Steps<undefined> {
    const { queue } = this.#deps;
    try {
      const delay = change.resync ? 0 : (mapping.after ?? 0);
      const isUrgent = mapping.isUrgent?.(change) === true;
      for (const key of mapping.keys(change, site)) {
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
        resource: resourceName(mapping.on),
        object: change.key,
        error,
        stack,
      });
    }
    return undefined;
  }
}

function* resyncOf(lister: Lister<KubeObject>, resync: "first" | "again"): Generator<ObjectChange<KubeObject>> {
  for (const after of lister.list()) yield { key: keyOf(after), before: undefined, after, resync };
}
