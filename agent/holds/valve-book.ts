import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { PostponedError } from "../base/postponed.ts";
import type { Found } from "../election/leadership.ts";
import { LeaseNotWrittenError, writtenWithin } from "../election/lease-write.ts";
import type { ActLimit } from "./act-limit.ts";
import {
  actsWithin,
  decodeValve,
  encodeValve,
  isCounted,
  isUnknown,
  newValve,
  type OwnCopy,
  roomAt,
  roomIn,
  type Valve,
  valveAtStart,
  withAct,
  withAdmittedDone,
  withoutAct,
} from "./valve.ts";
import type { ValveMemory } from "./valve-memory.ts";

export interface ValveBookDeps {
  /** This board's own copy. */
  readonly memory: ValveMemory;
  /** Writes the carried annotations into the Lease now; resolves once the Lease has them. */
  readonly publish: () => Promise<void>;
  /** Called when the valve begins to hold acts, and when it no longer does. */
  readonly changed: (isHolding: boolean) => void;
}

/** The valve holds the act, which was not sent and will be decided again later. */
export class ValveError extends PostponedError {
  override readonly name = "ValveError";
}

/**
 * The outcome of an admitted act. uncertain: it was sent, and may take effect although it failed. none: it certainly
 * has no effect.
 */
export type ActEffect = "done" | "uncertain" | "none";

/** The valve, as it is shown to operators. */
export interface ValveView {
  readonly acts: number;
  /** Not every act of the last hour is known, so none is admitted. */
  readonly isUnknown: boolean;
  /** When the valve admits an act again; undefined if the passage of time alone does not lead to that. */
  readonly opensAt: Instant | undefined;
}

/** How long an act may wait for the Lease. */
const patience: Millis = 40_000;
/** An act that is held is due again within this time. */
const retriedWithin: Millis = 90_000;
/** Maximum number of uncertain acts that are recognised when they are repeated; others are counted twice. */
const mostUncertain = 256;

/**
 * The safety valve while this board leads: counts harmful acts, and admits no more than the limit permits. An act is on
 * the Lease before it is sent, so each later leader counts it, regardless of how this leader ends.
 */
export class ValveBook {
  readonly #ambient: Ambient;
  readonly #deps: ValveBookDeps;
  /** The acts that were done or may have been. `admitted` and `total` are set when the valve is encoded. */
  #valve: Valve = newValve;
  /** Acts under way. */
  #sent = 0;
  /** Acts that are on the Lease but were not sent, and so may be sent immediately. */
  #free = 0;
  /** Acts that are being written to the Lease. */
  #asked = 0;
  #asking: Promise<void> | undefined;
  /** Waiting callers of `admit`. */
  #waiting = 0;
  #total = 0;
  /** The highest total that was certainly on the Lease. */
  #writtenTotal = 0;
  /** Uncertain acts, with the time at which they were counted. */
  readonly #uncertain = new Map<string, Instant>();
  #own: OwnCopy | undefined;
  #lease = "";
  #term = 0;
  #leads = false;
  #refusedAt: Instant | undefined;
  #holdingSince: Instant | undefined;

  constructor(ambient: Ambient, deps: ValveBookDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#own = deps.memory.read();
  }

  /**
   * Begins a term of this board. `text`: the annotation of the Lease with the uid `lease`, which was written before
   * `written`. `isFirst`: whether nothing shows that the site had a leader before.
   */
  begin(text: string | undefined, { lease, written }: Pick<Found, "lease" | "written">, isFirst: boolean): void {
    const { clock, log } = this.#ambient;
    const { memory } = this.#deps;
    const now = clock.now();
    const found = decodeValve(text, written);
    if (text !== undefined && found === undefined) log.warn("the Lease's annotation of harmful acts is invalid", {});
    const valve = valveAtStart({ found, own: this.#own, lease, isFirst, isRestored: memory.wasRestored }, now);
    if (found !== undefined && valve !== found)
      log.warn("the Lease was restored, so the harmful acts in this board's copy count as well", {});
    if (isUnknown(valve, now)) log.warn("the harmful acts of the last hour are unknown", {});
    this.#term++;
    this.#leads = true;
    this.#lease = lease;
    this.#valve = valve;
    this.#total = valve.total;
    this.#writtenTotal = valve.total;
    this.#sent = 0;
    this.#free = 0;
    this.#asked = 0;
    this.#uncertain.clear();
  }

  /** Ends the term. Acts that are still under way are on the Lease, and count as done. */
  end(): void {
    const now = this.#ambient.clock.now();
    if (this.#leads) {
      const valve = withAdmittedDone({ ...this.#current, total: this.#writtenTotal }, now);
      this.#own = { valve, lease: this.#lease, at: now };
    }
    this.#term++;
    this.#leads = false;
    this.#setHolding(false);
  }

  /** Remembers the annotation that was read while another board leads, in case it is lost or restored. */
  saw(text: string | undefined, { lease, written }: Pick<Found, "lease" | "written">): void {
    const found = this.#leads ? undefined : decodeValve(text, written);
    if (found === undefined) return;
    const isRestored = this.#own?.lease === lease && this.#own.valve.total > found.total;
    if (isRestored) return;
    this.#own = { valve: found, lease, at: this.#ambient.clock.now() };
    this.#deps.memory.write(this.#own, "when due");
  }

  /** The text for the Lease's annotation; undefined if another board leads. */
  carried(): string | undefined {
    if (!this.#leads) return undefined;
    // Unused acts are given back, and are counted until the Lease shows that.
    if (this.#waiting === 0) this.#free = 0;
    return encodeValve(this.#current, this.#ambient.clock.now());
  }

  /**
   * Admits an act: resolves once the Lease has it, with a function to be called with its effect. Rejects with a
   * ValveError if the limit is reached. `act` names the act and its object: an act that is repeated because its effect
   * is uncertain counts only once.
   */
  async admit(act: string, limit: ActLimit): Promise<(effect: ActEffect) => void> {
    const term = this.#term;
    if (!this.#leads) throw new LeaseNotWrittenError("this board does not lead");
    const isRepeated = this.#isTakenAgain(act);
    if (!isRepeated) await this.#take(limit, term);
    return (effect) => {
      // After a conflict, it may have been the earlier attempt that took effect.
      if (this.#term === term) this.#settle(act, isRepeated && effect === "none" ? "uncertain" : effect);
    };
  }

  view(limit: number, now: Instant): ValveView {
    const valve = this.#current;
    return { acts: actsWithin(valve, now), isUnknown: isUnknown(valve, now), opensAt: roomAt(valve, limit, now) };
  }

  /** Since when acts have been held; undefined if none are held. */
  get holdingSince(): Instant | undefined {
    return this.#holdingSince;
  }

  /** Called regularly while this board leads. `isHeld`: whether a controller holds an act because of this valve. */
  observe(isHeld: boolean): void {
    const now = this.#ambient.clock.now();
    const wasRefused = this.#refusedAt !== undefined && elapsed(this.#refusedAt, now) < retriedWithin;
    this.#setHolding(this.#leads && (isHeld || wasRefused));
  }

  get #current(): Valve {
    return { ...this.#valve, admitted: this.#sent + this.#free + this.#asked, total: this.#total };
  }

  async #take(limit: ActLimit, term: number): Promise<void> {
    this.#waiting++;
    try {
      while (!this.#isTaken(limit)) {
        await this.#ask(limit);
        if (this.#term !== term) throw new LeaseNotWrittenError("the term ended before the release was written");
      }
    } finally {
      this.#waiting--;
    }
  }

  /** Takes over the count of an earlier attempt whose effect is uncertain. */
  #isTakenAgain(act: string): boolean {
    const at = this.#uncertain.get(act);
    this.#uncertain.delete(act);
    if (at === undefined || !isCounted(at, this.#ambient.clock.now())) return false;
    this.#valve = withoutAct(this.#valve, at);
    this.#sent++;
    return true;
  }

  #isTaken(limit: ActLimit): boolean {
    const now = this.#ambient.clock.now();
    const used = { ...this.#valve, admitted: this.#sent };
    if (this.#free === 0 || roomIn(used, limit(now), now) === 0) return false;
    this.#free--;
    this.#sent++;
    return true;
  }

  /**
   * Writes additional acts to the Lease: one for each waiting caller, as far as the limit permits. Rejects if it
   * permits none.
   */
  #ask(limit: ActLimit): Promise<void> {
    this.#asking ??= this.#write(limit, this.#term).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #write(limit: ActLimit, term: number): Promise<void> {
    const { clock } = this.#ambient;
    // Callers of the same moment share a write.
    await Promise.resolve();
    const now = clock.now();
    const room = Math.min(roomIn(this.#current, limit(now), now), this.#waiting);
    if (room < 1) {
      this.#refusedAt = now;
      throw new ValveError(
        "the safety valve holds the act, because the limit of harmful acts per hour has been reached",
      );
    }
    this.#asked = room;
    this.#total = Math.min(this.#total + room, Number.MAX_SAFE_INTEGER);
    const total = this.#total;
    try {
      await writtenWithin(clock, patience, this.#deps.publish);
      if (this.#term !== term) return;
      this.#free += room;
      this.#writtenTotal = total;
    } finally {
      if (this.#term === term) this.#asked = 0;
    }
    this.#own = { valve: this.#current, lease: this.#lease, at: clock.now() };
    this.#deps.memory.write(this.#own, "at once");
  }

  #settle(act: string, effect: ActEffect): void {
    const now = this.#ambient.clock.now();
    this.#sent--;
    if (effect === "none") {
      // The Lease has already counted it, so another act may be sent in its place.
      this.#free++;
      return;
    }
    this.#valve = withAct(this.#valve, now);
    if (effect === "done") return;
    const [oldest] = this.#uncertain.keys();
    if (this.#uncertain.size >= mostUncertain && oldest !== undefined) this.#uncertain.delete(oldest);
    this.#uncertain.set(act, now);
  }

  #setHolding(isHolding: boolean): void {
    if (isHolding === (this.#holdingSince !== undefined)) return;
    this.#holdingSince = isHolding ? this.#ambient.clock.now() : undefined;
    if (!isHolding) this.#refusedAt = undefined;
    this.#deps.changed(isHolding);
  }
}
