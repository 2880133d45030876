import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import { Permits } from "../base/permits.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { LeaseNotWrittenError, writtenWithin } from "../election/lease-write.ts";
import { HoldMemory, type HoldMemoryParts } from "./hold-memory.ts";
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
  pruned,
} from "./holds.ts";

/** Quiet hours, in which nothing is evicted. `until` undefined: their end is not known. */
export interface Quiet {
  readonly until: Instant | undefined;
  readonly why: string;
}

export interface HoldBookParts extends HoldMemoryParts {
  /** How long evictions go slowly after a freeze. */
  readonly recovery: Millis;
  readonly isQuiet: ((now: Instant) => Quiet | undefined) | undefined;
  /** Writes the carried annotations into the Lease now; resolves once the Lease holds them. */
  readonly publish: () => Promise<void>;
  /** Called when the holds in effect change. */
  readonly changed: () => void;
  /** Called when a hold ends by its time. */
  readonly over: (what: Ended) => void;
}

export interface Ended {
  readonly kind: "freeze" | "pause" | "confirmation";
  /** "site", "zone/plant7", a controller, a zone. */
  readonly subject: string;
  readonly hold: Hold;
}

/** The Lease has no room for more holds. Nothing was changed. */
export class TooManyHoldsError extends Error implements HasDisposition {
  override readonly name = "TooManyHoldsError";
  readonly disposition = "drop";
}

/** A command whose write to the Lease takes longer fails. */
const patience: Millis = 15_000;
/** How often the annotation's remaining times are updated: a hold may last that much longer per change of leader. */
const freshness: Millis = 30_000;
/** How often the board's own copy is written: a hold may last that much longer if a reboot meets a lost Lease. */
const checkpoint: Millis = 600_000;
const quietLook: Millis = 15_000;

/**
 * The operators' holds, while this board leads. The Lease's annotation is the truth, and carries a change before its
 * command is answered; the board's own copy is for a Lease that was deleted.
 */
export class HoldBook {
  readonly #ambient: Ambient;
  readonly #parts: HoldBookParts;
  readonly #bell: WakeSignal;
  readonly #memory: HoldMemory;
  /** Changes are made one after the other. */
  readonly #changes = new Permits(1);
  #holds = noHolds;
  /** The holds that are being written to the Lease, until the write is confirmed or given up. */
  #offered: Holds | undefined;
  #told: { readonly of: Holds; readonly at: Instant; readonly text: string } | undefined;
  #quiet: { readonly at: Instant; readonly quiet: Quiet | undefined; readonly last: Instant | undefined } | undefined;
  /** The Lease has the annotation: it is kept up to date even when nothing is held any more. */
  #isThere = false;
  /** Ends up to this instant have been reported. */
  #lastLapse: Instant | undefined;
  #term = 0;
  #leads = false;

  constructor(ambient: Ambient, parts: HoldBookParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#bell = new WakeSignal(ambient.clock);
    this.#memory = new HoldMemory(ambient, parts);
  }

  /** Begins a term of ours. `text`: the annotation of its Lease, written before `written`. */
  begin(text: string | undefined, written: Instant): void {
    const { clock, log } = this.#ambient;
    const now = clock.now();
    const found = decodeHolds(text, written);
    if (text !== undefined && found === undefined) log.warn("what the Lease says of holds cannot be read", {});
    // Confirmations permit harm, and others may have revoked them: they are not taken from this board's memory.
    const isOlder = this.#memory.isOlder(text);
    const holds = (isOlder ? undefined : found) ?? { ...this.#memory.read(now), confirmed: new Map() };
    this.#term++;
    this.#leads = true;
    this.#lastLapse = now;
    this.#isThere = found !== undefined;
    this.#holds = pruned(holds, now);
    this.#memory.write(this.#holds, now);
    if (isNothing(this.#holds)) return;
    log.info("holds taken over", {
      freezes: [...this.#holds.freezes.keys()],
      pauses: [...this.#holds.pauses.keys()],
      confirmed: [...this.#holds.confirmed.keys()],
    });
    // The Lease was recreated, or is older: the next leader has to find the holds there.
    if (found === undefined || isOlder) this.#publishLater();
  }

  /**
   * Keeps the annotation as read while another board leads, in case the Lease is deleted. Writes to disk only if the
   * orders have changed.
   */
  saw(text: string | undefined, written: Instant): void {
    if (this.#leads || text === undefined || this.#memory.isOlder(text)) return;
    const now = this.#ambient.clock.now();
    const found = decodeHolds(text, written);
    if (found) this.#memory.note(found, now);
  }

  /** The Lease went back to an earlier state: this board's memory is newer, until another board leads. */
  restored(): void {
    this.#memory.restored();
  }

  /** Ends the term: the next leader reads the holds from the Lease. */
  end(): void {
    this.#term++;
    this.#leads = false;
    this.#holds = noHolds;
    this.#offered = undefined;
    this.#told = undefined;
  }

  /** The holds in effect, including quiet hours. */
  now(now: Instant): Holds {
    const quiet = this.#quietFreeze(now);
    return quiet ? { ...this.#holds, freezes: new Map([...this.#holds.freezes, ["quiet", quiet]]) } : this.#holds;
  }

  /** Without quiet hours: these follow the calendar, which every leader reads for itself. */
  get ordered(): Holds {
    return this.#holds;
  }

  quiet(now: Instant): Quiet | undefined {
    const { isQuiet } = this.#parts;
    if (isQuiet === undefined) return undefined;
    const before = this.#quiet;
    // Cached: called for every pod that is due, and a calendar computes the answer.
    if (before && elapsed(before.at, now) < 1000) return before.quiet;
    const quiet = isQuiet(now);
    this.#quiet = { at: now, quiet, last: quiet ? now : before?.last };
    return quiet;
  }

  /** Text for the Lease's annotation; undefined: nothing was ever held, the annotation is left as it is. */
  carried(): string | undefined {
    const now = this.#ambient.clock.now();
    const holds = this.#offered ?? this.#holds;
    if (isNothing(holds) && !this.#isThere) return undefined;
    this.#isThere = true;
    if (this.#told?.of !== holds || elapsed(this.#told.at, now) >= freshness) {
      this.#told = { of: holds, at: now, text: encodeHolds(pruned(holds, now), now) };
    }
    return this.#told.text;
  }

  /**
   * Resolves once the Lease holds the change. Restrictive changes take effect at once, permissive or harmful ones only
   * after they are written. If the write fails, the change is undone and this rejects.
   */
  async change(edit: (holds: Holds, now: Instant) => Holds, effect: "at once" | "once written"): Promise<void> {
    const term = this.#term;
    await this.#changes.acquire(new AbortController().signal);
    try {
      if (this.#term !== term) throw new LeaseNotWrittenError("the term ended meanwhile");
      const now = this.#ambient.clock.now();
      const before = this.#holds;
      const changes = Math.min(before.changes + 1, Number.MAX_SAFE_INTEGER);
      const after = { ...edit(pruned(before, now), now), changes };
      if (!fits(after, now)) throw new TooManyHoldsError("more holds do not fit on the Lease");
      this.#offered = after;
      if (effect === "at once") this.#set(after);
      try {
        await writtenWithin(this.#ambient.clock, patience, this.#parts.publish);
      } catch (error) {
        if (this.#term === term) {
          this.#set(before);
          this.#offered = undefined;
          this.#publishLater();
        }
        throw error;
      }
      if (this.#term !== term) throw new LeaseNotWrittenError("the term ended meanwhile");
      this.#offered = undefined;
      this.#set(after);
      this.#memory.write(after, this.#ambient.clock.now());
    } finally {
      this.#changes.release();
    }
  }

  /** Reports the end of each hold, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    let kept = clock.now();
    let wasQuiet = this.quiet(kept) !== undefined;
    while (!signal.aborted) {
      await this.#bell.wait(signal, this.#rest(kept));
      if (signal.aborted) return;
      const now = clock.now();
      const isQuiet = this.quiet(now) !== undefined;
      const before = this.#holds;
      if (this.#lapse(now) || isQuiet !== wasQuiet) this.#parts.changed();
      wasQuiet = isQuiet;
      // Forgets ended holds: they would otherwise begin anew after a reboot.
      if (this.#holds === before && elapsed(kept, now) < checkpoint) continue;
      kept = now;
      this.#memory.write(this.#holds, now);
    }
  }

  /** Time until the next check; undefined: until something is held. */
  #rest(kept: Instant): Millis | undefined {
    const now = this.#ambient.clock.now();
    const ends = [
      nextEnd(this.#holds, now),
      isNothing(this.#holds) ? undefined : shifted(kept, checkpoint),
      this.#parts.isQuiet && shifted(now, quietLook),
    ];
    const rests = ends.flatMap((end) => (end === undefined ? [] : [Math.max(1, elapsed(now, end))]));
    return rests.length === 0 ? undefined : Math.min(...rests);
  }

  /** Reports the holds that ended since the last call (true: there were any), and forgets those over for good. */
  #lapse(now: Instant): boolean {
    const since = this.#lastLapse ?? now;
    this.#lastLapse = now;
    const { freezes, pauses, confirmed } = this.#holds;
    const ended = (kind: Ended["kind"], holds: ReadonlyMap<string, Hold>): readonly Ended[] =>
      [...holds]
        .filter(([, hold]) => isRunning(hold, since) && !isRunning(hold, now))
        .map(([subject, hold]) => ({ kind, subject, hold }));
    const all = [...ended("freeze", freezes), ...ended("pause", pauses), ...ended("confirmation", confirmed)];
    for (const one of all) this.#parts.over(one);
    if (this.#offered === undefined) this.#holds = pruned(this.#holds, now);
    return all.length > 0;
  }

  #quietFreeze(now: Instant): Freeze | undefined {
    const quiet = this.quiet(now);
    const { recovery } = this.#parts;
    const last = this.#quiet?.last;
    if (last === undefined || (quiet === undefined && elapsed(last, now) >= recovery)) return undefined;
    const end = quiet === undefined ? last : (quiet.until ?? shifted(now, quietLook));
    const by = quiet?.why ?? "quiet hours";
    return { scope: "site", end, slowEnd: shifted(end, recovery), by, reason: undefined, foreign: {} };
  }

  #set(holds: Holds): void {
    if (holds === this.#holds) return;
    this.#holds = holds;
    this.#bell.ring();
    this.#parts.changed();
  }

  /** The next renewal carries it in any case. */
  #publishLater(): void {
    this.#parts.publish().catch((error: unknown) => {
      this.#ambient.log.debug("holds ride along with the next renewal", { error });
    });
  }
}
