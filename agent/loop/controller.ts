import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Instant, Millis } from "../base/clock.ts";
import type { Steps } from "../base/steps.ts";
import type { DueAct } from "../decisions/decision-record.ts";
import type { Action, Outcome } from "../execution/actions.ts";
import type { Lister } from "../informer/lister.ts";
import type { WatchHealth } from "../informer/watch-health.ts";

export interface Decision<Memory> {
  readonly actions: readonly Action[];
  readonly memory: Memory;
  /** When to process this key again even if nothing changes. */
  readonly requeueAfter?: Millis;
  /** The recorded acts that are due but not done: held back, or waiting for their turn; absent if there are none. */
  readonly due?: readonly DueAct[];
}

/** A change of an object. `before` is undefined if the object is new, `after` if it no longer exists. */
export interface ObjectChange<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
  /** Set for a deletion if `before` is newer than the state that listeners know: that state. */
  readonly known?: T;
  /**
   * Set in a resync, in which no object changed. "first": the resync when a term begins. "again": a later
   * one.
   */
  readonly resync?: "first" | "again";
}

/** Maps changes of a resource to keys. When a term begins, a resync enqueues the keys of every cached object. */
export interface EnqueueMapping {
  readonly on: Resource<KubeObject>;
  /** Yields the keys, and undefined for candidates that the change does not affect, to let the event loop run. */
  keys(change: ObjectChange<KubeObject>, site: SiteView): Iterable<string | undefined>;
  /** Delay before the keys are processed; changes within it are processed together. */
  readonly after?: Millis;
  /** Whether the keys of a change precede all others, because something is waiting for their result. */
  isUrgent?(change: ObjectChange<KubeObject>): boolean;
  /** Resyncs skip this resource, so that only changes enqueue its keys. */
  readonly onlyOnChange?: true;
}

/** A mapping whose function receives objects of the resource's type, such as Pods for pods. */
export const enqueueOn = <T extends KubeObject>(
  on: Resource<T>,
  keys: (change: ObjectChange<T>, site: SiteView) => Iterable<string | undefined>,
  after: Millis = 0,
): EnqueueMapping => ({ on, keys: keys as EnqueueMapping["keys"], after });

/** A mapping that resyncs skip, for keys that the resync of another resource enqueues. */
export const enqueueOnChange = <T extends KubeObject>(
  on: Resource<T>,
  keys: (change: ObjectChange<T>, site: SiteView) => Iterable<string | undefined>,
  after: Millis = 0,
): EnqueueMapping => ({
  ...enqueueOn<T>(on, (change, site) => (change.resync ? [] : keys(change, site)), after),
  onlyOnChange: true,
});

/**
 * A controller: the resources that it reads, and the functions that observe and decide. It writes nothing itself: the
 * control loop executes its actions.
 *
 * It has a memory per key, which is kept in the process for the length of a term. Losing the memory must be safe.
 */
export interface Controller<State, Memory> {
  readonly name: string;
  /**
   * All resources that it reads. It starts only once all of them are cached, because an incomplete view of the site
   * would lead to wrong conclusions.
   */
  readonly reads: readonly Resource<KubeObject>[];
  /**
   * The resources on which actions without a protecting precondition are based: actions on another object, or on any
   * version of the same object. The controller starts only after the caches of these resources have caught up with the
   * API.
   */
  readonly restsOn?: readonly Resource<KubeObject>[];
  readonly mappings: readonly EnqueueMapping[];
  /** Keys to process when a term begins, besides those of the cached objects. */
  readonly firstKeys?: readonly string[];
  readonly initialMemory: Memory;
  /**
   * How long requests of a pass may wait for their allowance: its reads, and the writes of each round. A read that is
   * not sent by then rejects; a write is postponed, and `decideAfterWrites` decides when it is tried again. Undefined
   * if there is no limit.
   */
  readonly maxWait?: Millis;
  /** How memory is stored; undefined if it ends with the term. */
  readonly durable?: Durable<Memory>;
  /** Whether a pass over the key holds so much memory that no other such pass may run at the same time. */
  isLarge?(key: string, site: SiteView): boolean;
  /** Reads the state of a key; undefined if there is nothing to decide, in which case the key's memory is dropped. */
  observe(key: string, site: SiteView, memory: Memory): State | undefined | Promise<State | undefined>;
  /** Decides what to do. Pure: equal arguments give equal decisions. */
  decide(state: State, memory: Memory, now: Instant): Decision<Memory>;
  /** The same as `decide`, in steps, for decisions that take long. */
  decideInSteps?(state: State, memory: Memory, now: Instant): Steps<Decision<Memory>>;
  /**
   * Decides again once the outcomes of a round are known, at the same `now`; pure. The result is the memory to keep, or
   * another round of actions: for example, zones are judged only after the conditions of their Nodes have been written.
   * Without this function, the decided memory is kept if every action succeeded, and the old one if any failed.
   */
  decideAfterWrites?(decision: Decision<Memory>, outcomes: readonly Outcome[], now: Instant): Decision<Memory>;
  /** The same as `decideAfterWrites`, in steps. */
  decideAfterWritesInSteps?(
    decision: Decision<Memory>,
    outcomes: readonly Outcome[],
    now: Instant,
  ): Steps<Decision<Memory>>;
}

/** How a memory is stored as text on this board, across terms and restarts. Other boards do not have it. */
export interface Durable<Memory> {
  /**
   * Returns the text to store; undefined if nothing is worth storing. Times of the monotonic clock mean nothing after a
   * reboot. Equal memories must give the same text, because otherwise every pass would write to flash.
   */
  save(memory: Memory, now: Instant): string | undefined;
  /** Throws if the text cannot be read; the key then begins with the initial memory. */
  load(text: string, now: Instant): Memory;
}

/** The read access of a controller. */
export interface SiteView {
  /** The current time, which is the same throughout the pass. */
  readonly now: Instant;
  lister<T extends KubeObject>(resource: Resource<T>): Lister<T>;
  /**
   * Reads an object from the API instead of the cache; undefined if it does not exist. Used for decisions that would
   * destroy something if the cache were stale. Rejects if there is no response, in which case the pass is repeated
   * later.
   */
  fetch<T extends KubeObject>(resource: Resource<T>, key: string): Promise<T | undefined>;
  /** Runs a long computation in steps, and lets other work run in between. */
  inTurns<T>(steps: Steps<T>): T | Promise<T>;
  /** The health of a resource's watch. */
  watch(resource: Resource<KubeObject>): WatchHealth;
  /** The resourceVersion up to which everything of a resource is in the cache; undefined if unknown. */
  position(resource: Resource<KubeObject>): string | undefined;
}
