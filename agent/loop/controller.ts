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
  /** When to look at this key again although nothing changed. */
  readonly requeueAfter?: Millis;
}

/** A change of a resource as its wakes see it: before = undefined: appeared; after = undefined: gone. */
export interface Seen<T> {
  readonly key: string;
  readonly before: T | undefined;
  readonly after: T | undefined;
  /** Nothing happened to it: all that is cached is gone through, as a term begins or "again" later in it. */
  readonly swept?: true | "again";
}

/** "A change of this resource wakes these keys." Every cached object wakes its keys once when a term begins. */
export interface WatchSpec {
  readonly on: Resource<KubeObject>;
  /**
   * Where many objects are asked whether a change concerns them, `undefined` stands for one that it does not: the event loop
   * may have a turn there.
   */
  keys(change: Seen<KubeObject>, site: SiteView): Iterable<string | undefined>;
  /** They are not looked at before this is over, and once for all that changed meanwhile. */
  readonly after?: Millis;
  /** Whether the keys of a change go before all others: somebody waits for what follows. */
  isUrgent?(change: Seen<KubeObject>): boolean;
  /** Nobody is woken where nothing happened: the cache need not be gone through for it. */
  readonly onlyOnChange?: true;
}

/** Ties the object's type to the resource, so that a wake's function sees a Pod where it listens to pods. */
export const wake = <T extends KubeObject>(
  on: Resource<T>,
  keys: (change: Seen<T>, site: SiteView) => Iterable<string | undefined>,
  after: Millis = 0,
): WatchSpec => ({ on, keys: keys as WatchSpec["keys"], after });

/** The same for those whose keys are woken by other resources when all that is cached is gone through. */
export const wakeOnChange = <T extends KubeObject>(
  on: Resource<T>,
  keys: (change: Seen<T>, site: SiteView) => Iterable<string | undefined>,
  after: Millis = 0,
): WatchSpec => ({
  ...wake<T>(on, (change, site) => (change.swept ? [] : keys(change, site)), after),
  onlyOnChange: true,
});

/**
 * A controller: what it reads and how it thinks. It cannot do I/O; the control loop reads for it and writes what it asks.
 *
 * Memory is kept per key, in the process, for the length of a term. Losing it must be safe.
 */
export interface Controller<State, Memory> {
  readonly name: string;
  /** Everything it reads. It does not begin before all of it is mirrored: from half a site it would conclude nonsense. */
  readonly reads: readonly Resource<KubeObject>[];
  /**
   * Of what it reads, that on which acts rest that name another object, or name one by its uid alone: no precondition
   * would stop them where the cache is of yesterday. It does not begin before these caches have caught up.
   */
  readonly restsOn?: readonly Resource<KubeObject>[];
  readonly wakes: readonly WatchSpec[];
  /** Keys that are looked at when a term begins, besides those that the cached objects wake. */
  readonly firstKeys?: readonly string[];
  readonly initialMemory: Memory;
  /**
   * How long a pass may wait for the allowance of requests: with its questions, and with the acts of each round. A question
   * that was not sent by then rejects; an act is postponed, and `remember` says when to look again. Left out: as long as it
   * takes.
   */
  readonly patience?: Millis;
  /** Where it is worth keeping: how. */
  readonly durable?: Durable<Memory>;
  /** Reads. May wait, never writes. `undefined`: the key is gone, its memory can be dropped. */
  observe(key: string, site: SiteView, memory: Memory): State | undefined | Promise<State | undefined>;
  /** Thinks. Pure: same arguments, same answer. */
  decide(state: State, memory: Memory, now: Instant): Decision<Memory>;
  /** The same in steps, where one object can be much to think about. */
  deciding?(state: State, memory: Memory, now: Instant): Steps<Decision<Memory>>;
  /**
   * What to keep once the outcomes are known; pure. May ask for a further round with actions at the same `now`: a Node
   * whose condition could not be written must be left out of its zone, so zones are judged only after the writes.
   * Without it, memory is kept as decided if every action went through, and as it was before if any failed.
   */
  remember?(decision: Decision<Memory>, outcomes: readonly Outcome[], now: Instant): Decision<Memory>;
}

/** How a memory is kept as text on this board, over terms and restarts. Another board does not see it. */
export interface Durable<Memory> {
  /**
   * Undefined: nothing worth keeping. Instants of the monotonic clock mean nothing after a reboot: what is written down
   * is what can be read again then. Equal memories give equal text, or every pass is a write to flash.
   */
  save(memory: Memory, now: Instant): string | undefined;
  /** Throws where the text cannot be understood; the key then begins with the initial memory. */
  load(text: string, now: Instant): Memory;
}

/** What a controller may read. */
export interface SiteView {
  /** The one instant of this pass. */
  readonly now: Instant;
  lister<T extends KubeObject>(resource: Resource<T>): Lister<T>;
  /**
   * Asks the site API itself, past the cache; `undefined`: it does not exist. Rare: only where a stale answer would
   * destroy something. Rejects where the API does not answer: the pass is then tried again later.
   */
  fetch<T extends KubeObject>(resource: Resource<T>, key: string): Promise<T | undefined>;
  /** Takes steps that are much together, and lets others have their turn of the event loop in between. */
  inTurns<T>(steps: Steps<T>): T | Promise<T>;
  /** How well we hear the changes of a resource. */
  watch(resource: Resource<KubeObject>): WatchHealth;
}

/** Leadership for a while. Work of the term listens to `signal`; it aborts before anyone else may lead. */
export interface Term {
  readonly number: number;
  readonly signal: AbortSignal;
  /** False from the moment at which another may lead, whatever timers and the network say; asked before each write. */
  standsAt(now: Instant): boolean;
}
