import type { KubeObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Instant, Millis } from "../base/clock.ts";
import type { Steps } from "../base/steps.ts";
import type { Action, Outcome } from "../execution/actions.ts";
import type { Lister } from "../informer/lister.ts";
import type { WatchHealth } from "../informer/watch-health.ts";

export interface Decision<Memory> {
  readonly actions: readonly Action[];
  readonly memory: Memory;
  /** When to process this key again even if nothing changes. */
  readonly requeueAfter?: Millis;
}

/** A change of a resource. Undefined `before`: the object appeared; undefined `after`: it is gone. */
export interface Seen<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
  /** Set in a sweep over the cache, when nothing changed. true: as a term begins; "again": later in the term. */
  readonly swept?: true | "again";
}

/** Maps changes of a resource to keys. Every cached object wakes its keys once when a term begins. */
export interface WatchSpec {
  readonly on: Resource<KubeObject>;
  /** Yields `undefined` for an object that the change does not concern: the event loop may have a turn there. */
  keys(change: Seen<KubeObject>, site: SiteView): Iterable<string | undefined>;
  /** Delay before the keys are processed; changes within it are processed together. */
  readonly after?: Millis;
  /** Whether the keys of a change go before all others, because their result is waited for. */
  isUrgent?(change: Seen<KubeObject>): boolean;
  /** The keys are woken by changes only: a sweep can skip this resource. */
  readonly onlyOnChange?: true;
}

/** Ties the object's type to the resource, so that the function for pods receives Pods. */
export const wake = <T extends KubeObject>(
  on: Resource<T>,
  keys: (change: Seen<T>, site: SiteView) => Iterable<string | undefined>,
  after: Millis = 0,
): WatchSpec => ({ on, keys: keys as WatchSpec["keys"], after });

/** The same for keys that other resources wake in a sweep. */
export const wakeOnChange = <T extends KubeObject>(
  on: Resource<T>,
  keys: (change: Seen<T>, site: SiteView) => Iterable<string | undefined>,
  after: Millis = 0,
): WatchSpec => ({
  ...wake<T>(on, (change, site) => (change.swept ? [] : keys(change, site)), after),
  onlyOnChange: true,
});

/**
 * A controller: its inputs and its decisions. It cannot do I/O; the control loop reads for it and executes its actions.
 *
 * Memory is kept per key, in the process, for the length of a term. Losing it must be safe.
 */
export interface Controller<State, Memory> {
  readonly name: string;
  /** All resources that it reads. It begins once all are mirrored: half a site would lead to wrong conclusions. */
  readonly reads: readonly Resource<KubeObject>[];
  /**
   * The part of `reads` behind actions that name another object, or name one by its uid alone: no precondition would
   * stop them if the cache is old. The controller does not begin before these caches have caught up.
   */
  readonly restsOn?: readonly Resource<KubeObject>[];
  readonly wakes: readonly WatchSpec[];
  /** Keys to process when a term begins, besides those that the cached objects wake. */
  readonly firstKeys?: readonly string[];
  readonly initialMemory: Memory;
  /**
   * How long a pass may wait for the request allowance: for its reads, and for the writes of each round. A read not
   * sent by then rejects; a write is postponed, and `remember` says when to try again. Undefined: without limit.
   */
  readonly patience?: Millis;
  /** How memory is stored; undefined: it is not kept over terms. */
  readonly durable?: Durable<Memory>;
  /** Reads; may wait, never writes. `undefined`: the key is gone, its memory can be dropped. */
  observe(key: string, site: SiteView, memory: Memory): State | undefined | Promise<State | undefined>;
  /** Decides. Pure: same arguments, same answer. */
  decide(state: State, memory: Memory, now: Instant): Decision<Memory>;
  /** The same in steps, for keys whose decision takes long. */
  deciding?(state: State, memory: Memory, now: Instant): Steps<Decision<Memory>>;
  /**
   * What to keep once the outcomes are known; pure. May ask for a further round with actions at the same `now`: a Node
   * whose condition could not be written must be left out of its zone, so zones are judged only after the writes.
   * Without it, memory is kept as decided if every action went through, and as it was before if any failed.
   */
  remember?(decision: Decision<Memory>, outcomes: readonly Outcome[], now: Instant): Decision<Memory>;
}

/** How a memory is kept as text on this board, over terms and restarts. Other boards do not see it. */
export interface Durable<Memory> {
  /**
   * Undefined: nothing worth keeping. Instants of the monotonic clock mean nothing after a reboot, so the text must do
   * without them. Equal memories must give equal text, or every pass writes to flash.
   */
  save(memory: Memory, now: Instant): string | undefined;
  /** Throws if the text is unreadable; the key then begins with the initial memory. */
  load(text: string, now: Instant): Memory;
}

/** The read access of a controller. */
export interface SiteView {
  /** The one instant of this pass. */
  readonly now: Instant;
  lister<T extends KubeObject>(resource: Resource<T>): Lister<T>;
  /**
   * Reads from the site API itself, past the cache; `undefined`: the object does not exist. Use it only where acting on
   * a stale answer would destroy something. Rejects without an answer; the pass is then tried again later.
   */
  fetch<T extends KubeObject>(resource: Resource<T>, key: string): Promise<T | undefined>;
  /** Runs long steps, and lets others have their turn of the event loop in between. */
  inTurns<T>(steps: Steps<T>): T | Promise<T>;
  /** The health of a resource's watch. */
  watch(resource: Resource<KubeObject>): WatchHealth;
}

/** Leadership for a while. Work of the term listens to `signal`; it aborts before anyone else may lead. */
export interface Term {
  readonly number: number;
  readonly signal: AbortSignal;
  /** False once another board may lead, whatever timers and the network do; checked before each write. */
  standsAt(now: Instant): boolean;
}
