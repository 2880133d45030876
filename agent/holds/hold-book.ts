import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { PrioritySemaphore } from "../base/concurrency/priority-semaphore.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import type { HasDisposition } from "../base/errors.ts";
import { LeaseNotWrittenError, writtenWithin } from "../election/lease-write.ts";
import type { LeaseAnnotations } from "../election/term-run.ts";
import type { HoldMemory } from "./hold-memory.ts";
import {
  decodeHolds,
  encodeHolds,
  type Freeze,
  fits,
  type Hold,
  type Holds,
  isNothing,
  isRunning,
  nextEnd,
  noHolds,
  permits,
  prune,
  releaseOf,
} from "./holds.ts";

/** The quiet hours now in force, in which nothing is evicted. `until` is undefined if their end is unknown. */
export interface QuietHours {
  readonly until: Instant | undefined;
  readonly why: string;
}

export interface HoldBookDeps {
  /** This board's own copy of the holds. */
  readonly memory: HoldMemory;
  /** The time between two renewals of the Lease. */
  readonly renewal: Millis;
  /** How long evictions proceed slowly after a freeze. */
  readonly recovery: Millis;
  /** The quiet hours in force at this time; undefined if this board has none configured. */
  readonly quietHoursAt: ((now: Instant) => QuietHours | undefined) | undefined;
  /** Writes the carried annotations into the Lease now; resolves once the Lease has them. */
  readonly publish: () => Promise<void>;
  /** Called with the holds that operators ordered, whenever the holds in force change. */
  readonly changed: (ordered: Holds) => void;
  /** Called when a hold expires; not when an operator ends it. */
  readonly over: (what: EndedHold) => void;
}

/** A change of the holds. Returns the same object if there is nothing to change. */
export type HoldEdit = (holds: Holds, now: Instant) => Holds;

export interface HoldChange {
  /**
   * "at once" is for restrictive changes, which do not wait for earlier ones; permissive ones take effect "once
   * written".
   */
  readonly effect: "at once" | "once written";
  /**
   * Aborts when the order is over: its change is not begun after that, and a permissive change that is not written yet
   * is undone.
   */
  readonly signal: AbortSignal;
}

/**
 * The turn of a change: the moment at which all changes ordered before it are complete, and none ordered after it has
 * begun.
 */
export interface HoldTurn {
  readonly at: Instant;
  /** The holds before the change. */
  readonly before: Holds;
  /** False if there was nothing to change. */
  readonly isChange: boolean;
}

/** A change that has been ordered and is not complete yet. */
interface OpenChange extends Pick<HoldChange, "effect"> {
  readonly edit: HoldEdit;
}

export interface EndedHold {
  readonly kind: "freeze" | "pause" | "confirmation" | "release";
  /**
   * The scope of a freeze such as "site" or "zone/plant7", the paused controller, the confirmed zone, or "valve" for a
   * release of the safety valve.
   */
  readonly subject: string;
  readonly hold: Hold;
}

/** Thrown if the Lease has no room for another hold; nothing was changed. */
export class TooManyHoldsError extends Error implements HasDisposition {
  override readonly name = "TooManyHoldsError";
  readonly disposition = "drop";
}

/** No holds of the kinds that permit harm. */
const permitting = { confirmed: new Map(), release: undefined } as const;
/** How long a change may take to be written to the Lease; after that its command fails. */
const patience: Millis = 15_000;
/**
 * Interval between updates of the remaining times in an annotation that has no permissions, or is long (`shortText`). A
 * change of leader may prolong a restriction by this interval, and shorten a permission.
 */
const freshness: Millis = 30_000;
/** A text with permissions is updated at each renewal if it has at most this many characters. */
const shortText = 2048;
/**
 * Interval between writes of the board's own copy. A reboot may prolong a hold by this interval if the Lease was also
 * deleted.
 */
const checkpoint: Millis = 600_000;
/** Interval between checks of the quiet hours. */
const quietCheck: Millis = 15_000;

/**
 * The operators' holds while this board leads. Their authoritative copy is the Lease's annotation: a command is
 * answered only after its change is written there. This board's own copy is used if the Lease was deleted.
 */
export class HoldBook {
  readonly #ambient: Ambient;
  readonly #deps: HoldBookDeps;
  readonly #bell: WakeSignal;
  readonly #memory: HoldMemory;
  /** Serialises the writes of changes. */
  readonly #turns = new PrioritySemaphore(1);
  /** The changes that are being written or wait for their turn, in the order in which they were ordered. */
  #open: readonly OpenChange[] = [];
  /** The holds after the last complete change. */
  #settled = noHolds;
  /** The holds in force: the settled ones with the open changes that take effect at once. */
  #holds = noHolds;
  /** The holds that are being written to the Lease; undefined if no write is pending. */
  #pending: Holds | undefined;
  /** Set while the Lease may have other holds than the settled ones, because a change was undone. */
  #doubt: object | undefined;
  /** The annotation's latest text, the holds that it encodes, when it was encoded, and for how long it is used. */
  #encoded: { readonly of: Holds; readonly at: Instant; readonly stands: Millis; readonly text: string } | undefined;
  /** The result of the last check of the quiet hours. `last`: when they were last in force. */
  #quiet:
    | { readonly at: Instant; readonly quiet: QuietHours | undefined; readonly last: Instant | undefined }
    | undefined;
  /** True if the Lease has the annotation, which must then be updated even if no hold is left. */
  #isAnnotated = false;
  /** The uid of the Lease of this term, or of the last one. */
  #lease = "";
  /**
   * True if the holds are from this board's own copy, which may belong to another cluster: they are in force, but are
   * not written to the Lease.
   */
  #isUndecided = false;
  /** Holds that ended because an operator thawed them. */
  readonly #thawed = new WeakSet<Hold>();
  /** All holds that ended by this instant have been reported. */
  #reportedUntil: Instant | undefined;
  #term = 0;
  #leads = false;

  constructor(ambient: Ambient, deps: HoldBookDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#bell = new WakeSignal(ambient.clock);
    this.#memory = deps.memory;
  }

  /**
   * Begins a term of this board. `text`: the annotation of the Lease with the uid `lease`, which was written before
   * `written`.
   */
  begin(text: string | undefined, { lease, written }: Pick<LeaseAnnotations, "lease" | "written">): void {
    const { clock, log } = this.#ambient;
    const now = clock.now();
    const found = decodeHolds(text, written);
    if (text !== undefined && found === undefined) log.warn("the Lease's annotation of holds cannot be read", {});
    // Confirmations and releases permit harm and may have ended, so they are not taken from this board's own copy.
    const isOlder = this.#memory.isOlder(text, lease);
    const home = this.#memory.home(lease);
    const remembered = home === "elsewhere" ? noHolds : { ...this.#memory.read(now), ...permitting };
    const holds = (isOlder ? undefined : found) ?? remembered;
    this.#lease = lease;
    this.#isUndecided = found === undefined && home === "undecided";
    this.#term++;
    this.#leads = true;
    this.#reportedUntil = now;
    this.#isAnnotated = found !== undefined;
    this.#settled = prune(holds, now);
    this.#holds = this.#settled;
    this.#store(now);
    if (isNothing(this.#holds)) return;
    log.info("holds resumed", {
      freezes: [...this.#holds.freezes.keys()],
      pauses: [...this.#holds.pauses.keys()],
      confirmed: [...this.#holds.confirmed.keys()],
      released: this.#holds.release !== undefined,
    });
    // The Lease was recreated or restored, so it needs the holds for the next leader. Permissions are always written
    // again: on a site whose terms all end before their first renewal, their remaining times would otherwise never
    // decrease.
    const isOutdated = found === undefined || isOlder || permits(this.#settled);
    if (!this.#isUndecided && isOutdated) this.#publishLater();
  }

  /** Called once the cluster is identified, before anything is evicted. Drops remembered holds of another cluster. */
  identified(cluster: string): void {
    const { clock, log } = this.#ambient;
    this.#memory.identified(cluster);
    if (!this.#isUndecided) return;
    this.#isUndecided = false;
    if (this.#memory.home(this.#lease) === "elsewhere") {
      log.info("holds dropped: they belong to another cluster", {});
      this.#settled = noHolds;
      this.#apply();
    } else this.#publishLater();
    this.#store(clock.now());
  }

  /**
   * Stores the annotation that was read while another board leads, in case the Lease is deleted. Writes to disk only if
   * the holds have changed, or the Lease was recreated.
   */
  saw(text: string | undefined, { lease, written }: Pick<LeaseAnnotations, "lease" | "written">): void {
    if (this.#leads || text === undefined || this.#memory.isOlder(text, lease)) return;
    const now = this.#ambient.clock.now();
    const found = decodeHolds(text, written);
    if (found) this.#memory.note(found, lease, now);
  }

  /** Ends the term. The next leader reads the holds from the Lease. */
  end(): void {
    this.#term++;
    this.#leads = false;
    this.#isUndecided = false;
    this.#open = [];
    this.#settled = noHolds;
    this.#holds = noHolds;
    this.#pending = undefined;
    this.#doubt = undefined;
    this.#encoded = undefined;
  }

  /** The holds in force, including quiet hours. */
  now(now: Instant): Holds {
    const quiet = this.#quietFreeze(now);
    return quiet ? { ...this.#holds, freezes: new Map([...this.#holds.freezes, ["quiet", quiet]]) } : this.#holds;
  }

  /** The holds that operators ordered, without quiet hours, which every leader derives from its own settings. */
  get ordered(): Holds {
    return this.#holds;
  }

  /** The turn that a change ordered now would have if all changes before it succeed. */
  expected(): Omit<HoldTurn, "isChange"> {
    const now = this.#ambient.clock.now();
    return { at: now, before: this.#open.reduce((holds, { edit }) => edit(holds, now), prune(this.#settled, now)) };
  }

  quiet(now: Instant): QuietHours | undefined {
    const { quietHoursAt } = this.#deps;
    if (quietHoursAt === undefined) return undefined;
    const before = this.#quiet;
    // Cached for a second, because this is called for every pod that is due, and the calendar takes time.
    if (before && elapsed(before.at, now) < 1000) return before.quiet;
    const quiet = quietHoursAt(now);
    this.#quiet = { at: now, quiet, last: quiet ? now : before?.last };
    return quiet;
  }

  /**
   * The text for the Lease's annotation; undefined if there has never been a hold, in which case the annotation is not
   * written.
   */
  carried(): string | undefined {
    const now = this.#ambient.clock.now();
    const holds = this.#pending ?? this.#settled;
    if (this.#isUndecided || (isNothing(holds) && !this.#isAnnotated)) return undefined;
    this.#isAnnotated = true;
    if (this.#encoded?.of !== holds || elapsed(this.#encoded.at, now) >= this.#encoded.stands)
      this.#encoded = { of: holds, at: now, ...this.#textOf(prune(holds, now), now) };
    return this.#encoded.text;
  }

  #textOf(holds: Holds, now: Instant): { readonly stands: Millis; readonly text: string } {
    const { renewal } = this.#deps;
    const text = encodeHolds(holds, now, renewal);
    if (permits(holds) && text.length <= shortText) return { stands: 0, text };
    return { stands: freshness, text: encodeHolds(holds, now, freshness + renewal) };
  }

  /**
   * Changes the holds. Each change is decided in its turn, so of two contrary orders the later one counts. Resolves once
   * the Lease has the change; if it cannot be written, the change is undone and this rejects.
   */
  async change(edit: HoldEdit, { effect, signal }: HoldChange): Promise<HoldTurn> {
    signal.throwIfAborted();
    if (this.#isUndecided) throw new LeaseNotWrittenError("the cluster is not identified yet");
    const term = this.#term;
    const change = { edit, effect };
    this.#open = [...this.#open, change];
    this.#apply();
    // A restriction that is late is better than none, even if its command has failed.
    const until = effect === "at once" ? new AbortController().signal : signal;
    const hasTurn = await this.#turns.acquire(until);
    try {
      if (!hasTurn) throw signal.reason;
      if (this.#term !== term) throw new LeaseNotWrittenError("the term ended before the change was written");
      return await this.#settle(edit, until);
    } finally {
      // Done before the next turn begins, so that a permission never comes into force if a later change withdraws it.
      this.#open = this.#open.filter((other) => other !== change);
      this.#apply();
      if (hasTurn) this.#turns.release();
    }
  }

  /** Performs a change in its turn. */
  async #settle(edit: HoldEdit, until: AbortSignal): Promise<HoldTurn> {
    const { clock } = this.#ambient;
    const term = this.#term;
    const now = clock.now();
    const before = prune(this.#settled, now);
    const edited = edit(before, now);
    const turn = { at: now, before, isChange: edited !== before };
    if (!turn.isChange && this.#doubt === undefined) return turn;
    const after = { ...edited, changes: Math.min(before.changes + 1, Number.MAX_SAFE_INTEGER) };
    if (!fits(after, now))
      throw new TooManyHoldsError("the site's Lease has no room for another freeze, pause or confirmation");
    for (const [key, freeze] of after.freezes) {
      const earlier = before.freezes.get(key);
      if (earlier && isRunning(earlier, now) && !isRunning(freeze, now)) this.#thawed.add(freeze);
    }
    this.#pending = after;
    try {
      await writtenWithin(clock, patience, this.#deps.publish, until);
    } catch (error) {
      if (this.#term === term) {
        this.#pending = undefined;
        // The undoing counts as a change as well. Otherwise, a board that has read the undone change would find fewer
        // changes on the Lease, and conclude that the Lease was restored from a backup.
        this.#settled = { ...before, changes: after.changes };
        this.#publishLater();
      }
      throw error;
    }
    if (this.#term !== term)
      throw new LeaseNotWrittenError(
        "the term ended before this was confirmed; the change may or may not have reached the next leader",
      );
    this.#pending = undefined;
    this.#doubt = undefined;
    this.#settled = after;
    this.#store(clock.now());
    return turn;
  }

  /** Reports holds that end, and updates this board's own copy, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    let storedAt = clock.now();
    let wasQuiet = this.quiet(storedAt) !== undefined;
    while (!signal.aborted) {
      await this.#bell.wait(signal, this.#untilCheck(storedAt));
      if (signal.aborted) return;
      const now = clock.now();
      const isQuiet = this.quiet(now) !== undefined;
      const before = this.#holds;
      if (this.#reportEnded(now) || isQuiet !== wasQuiet) this.#deps.changed(this.#holds);
      wasQuiet = isQuiet;
      // Ended holds are removed from the copy, because otherwise a reboot would restart them.
      if (this.#holds === before && elapsed(storedAt, now) < checkpoint) continue;
      storedAt = now;
      this.#store(now);
    }
  }

  /** Time until the next check; undefined while there is no hold. */
  #untilCheck(storedAt: Instant): Millis | undefined {
    const now = this.#ambient.clock.now();
    const ends = [
      nextEnd(this.#holds, now),
      isNothing(this.#holds) ? undefined : shifted(storedAt, checkpoint),
      this.#deps.quietHoursAt && shifted(now, quietCheck),
    ];
    const rests = ends.flatMap((end) => (end === undefined ? [] : [Math.max(1, elapsed(now, end))]));
    return rests.length === 0 ? undefined : Math.min(...rests);
  }

  /**
   * Reports the holds that have ended since the last call, and drops those that no longer have any effect. Returns true
   * if any ended.
   */
  #reportEnded(now: Instant): boolean {
    const since = this.#reportedUntil ?? now;
    this.#reportedUntil = now;
    const { freezes, pauses, confirmed } = this.#holds;
    const ended = (kind: EndedHold["kind"], holds: ReadonlyMap<string, Hold>): readonly EndedHold[] =>
      [...holds]
        .filter(([, hold]) => isRunning(hold, since) && !isRunning(hold, now) && !this.#thawed.has(hold))
        .map(([subject, hold]) => ({ kind, subject, hold }));
    const all = [
      ...ended("freeze", freezes),
      ...ended("pause", pauses),
      ...ended("confirmation", confirmed),
      ...ended("release", releaseOf(this.#holds)),
    ];
    for (const one of all) this.#deps.over(one);
    if (this.#open.length === 0) {
      this.#settled = prune(this.#settled, now);
      this.#holds = this.#settled;
    }
    return all.length > 0;
  }

  #quietFreeze(now: Instant): Freeze | undefined {
    const quiet = this.quiet(now);
    const { recovery } = this.#deps;
    const last = this.#quiet?.last;
    if (last === undefined || (quiet === undefined && elapsed(last, now) >= recovery)) return undefined;
    const end = quiet === undefined ? last : (quiet.until ?? shifted(now, quietCheck));
    const by = quiet?.why ?? "quiet hours";
    return { scope: "site", end, slowEnd: shifted(end, recovery), by, reason: undefined, foreign: {} };
  }

  /** Writes this board's own copy. */
  #store(now: Instant): void {
    if (!this.#isUndecided) this.#memory.write(this.#settled, this.#lease, now);
  }

  /** Puts the settled holds into force, with the open changes that take effect at once. */
  #apply(): void {
    const now = this.#ambient.clock.now();
    const restrictions = this.#open.filter(({ effect }) => effect === "at once");
    const holds = restrictions.reduce((before, { edit }) => edit(before, now), this.#settled);
    if (holds === this.#holds) return;
    this.#holds = holds;
    this.#bell.ring();
    this.#deps.changed(holds);
  }

  /** Publishes the holds now if possible; the next renewal writes them in any case. */
  #publishLater(): void {
    const doubt = {};
    this.#doubt = doubt;
    this.#deps.publish().then(
      () => {
        if (this.#doubt === doubt) this.#doubt = undefined;
      },
      (error: unknown) => {
        this.#ambient.log.debug("holds are written with the next renewal of the Lease", { error });
      },
    );
  }
}
