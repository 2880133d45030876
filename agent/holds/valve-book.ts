import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { PostponedError } from "../base/postponed.ts";
import { LeaseNotWrittenError, writtenWithin } from "../election/lease-write.ts";
import type { LeaseAnnotations } from "../election/term-run.ts";
import type { ActLimits } from "./act-limit.ts";
import { NamespaceActs, type NamespaceCount } from "./namespace-acts.ts";
import {
  actsWithin,
  decodeValve,
  encodeValve,
  isCounted,
  isUnknown,
  keptForTaints,
  newValve,
  type OwnCopy,
  oldestActEnd,
  roomAt,
  roomIn,
  roomInShare,
  type Valve,
  valveAtStart,
  withAct,
  withAdmittedDone,
  withoutAct,
} from "./valve.ts";
import type { ValveMemory } from "./valve-memory.ts";

export interface ValveBookDeps {
  /** This board's own copy. */
  readonly memory: Pick<ValveMemory, "read" | "write" | "wasRestored">;
  /** Writes the carried annotations into the Lease now; resolves once the Lease has them. */
  readonly publish: () => Promise<void>;
  /** Called when the valve begins to hold acts, and when it no longer holds any; not at the end of a term. */
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

/** The valve, as it is shown to operators, and to controllers before they decide on an act. */
export interface ValveView {
  readonly acts: number;
  /** Not every act of the last hour is known, so none is admitted. */
  readonly isUnknown: boolean;
  /**
   * The limit that is reached first. acts: all acts of the hour. pods: the part of them that is not kept for taints.
   * share: the share of the namespace in that part.
   */
  readonly of: "acts" | "pods" | "share";
  /** The acts on pods of the namespace; undefined in a view without a namespace. */
  readonly usedByNamespace: number | undefined;
  /** When the valve admits an act again; undefined if waiting alone does not help. */
  readonly opensAt: Instant | undefined;
}

/** How long an act may wait for the Lease. */
const patience: Millis = 40_000;
/** An act that is held is due again within this time. */
const retriedWithin: Millis = 90_000;
/** Maximum number of uncertain acts that are recognised when they are repeated; others are counted twice. */
const maxUncertain = 256;

/**
 * The safety valve while this board leads: counts harmful acts, and admits no more than the limit permits. An act is on
 * the Lease before it is sent, so each later leader counts it, regardless of how this leader ends.
 */
export class ValveBook {
  readonly #ambient: Ambient;
  readonly #deps: ValveBookDeps;
  /** The acts that were done or may have been. `admitted` and `total` are set when the valve is encoded. */
  #valve: Valve = newValve;
  /** Acts that were admitted and whose effect is not known yet. */
  #sent = 0;
  /** Acts that are on the Lease but were not sent, and so may be sent immediately. */
  #free = 0;
  /** Acts that are being written to the Lease. */
  #asked = 0;
  #asking: Promise<void> | undefined;
  /** Waiting callers of `admit`, by namespace. */
  readonly #waiting = new Map<string | undefined, number>();
  #total = 0;
  /** The highest total that was certainly on the Lease. */
  #writtenTotal = 0;
  /** Uncertain acts, with the time at which they were counted. */
  readonly #uncertain = new Map<string, Instant>();
  /** Acts on pods in this term, including those that were admitted and whose effect is not known yet. */
  readonly #byNamespace = new NamespaceActs();
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
  begin(
    text: string | undefined,
    { lease, written }: Pick<LeaseAnnotations, "lease" | "written">,
    isFirst: boolean,
  ): void {
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
    this.#byNamespace.clear();
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
    if (this.#holdingSince === undefined) return;
    this.#ambient.log.info("harmful acts held by the safety valve are left to the next leader", {});
    this.#holdingSince = undefined;
    this.#refusedAt = undefined;
  }

  /** Remembers the annotation that was read while another board leads, in case it is lost or restored. */
  saw(text: string | undefined, { lease, written }: Pick<LeaseAnnotations, "lease" | "written">): void {
    const found = this.#leads ? undefined : decodeValve(text, written);
    if (found === undefined) return;
    // An earlier Lease than the one that this board remembers may come from a backup as well.
    const isOfSite = this.#own?.lease === lease || this.#deps.memory.wasRestored;
    if (isOfSite && this.#own !== undefined && this.#own.valve.total > found.total) return;
    this.#own = { valve: found, lease, at: this.#ambient.clock.now() };
    this.#deps.memory.write(this.#own, "when due");
  }

  /** The text for the Lease's annotation; undefined if another board leads. */
  carried(): string | undefined {
    if (!this.#leads) return undefined;
    // Acts that no caller waits for are given back. They count against the limit until this text is on the Lease.
    if (this.#waiting.size === 0) this.#free = 0;
    return encodeValve(this.#current, this.#ambient.clock.now());
  }

  /**
   * Admits an act: resolves once the Lease has it, with a function to be called with its effect. Rejects with a
   * ValveError if the limit is reached. `act` names the act and its object: an act that is repeated because its effect
   * is uncertain counts only once. `namespace`: that of the pod; undefined if the act is the taint of a board.
   */
  async admit(act: string, limits: ActLimits, namespace?: string): Promise<(effect: ActEffect) => void> {
    const term = this.#term;
    if (!this.#leads) throw new LeaseNotWrittenError("this board does not lead");
    const isRepeated = this.#isTakenAgain(act);
    const takenAt = isRepeated ? undefined : await this.#take(limits, namespace, term);
    return (effect) => {
      if (this.#term !== term) return;
      if (effect === "none" && namespace !== undefined && takenAt) this.#byNamespace.remove(namespace, takenAt);
      // After a conflict, it may have been the earlier attempt that took effect.
      this.#settle(act, isRepeated && effect === "none" ? "uncertain" : effect);
    };
  }

  /** The view of the valve for acts on pods of this namespace or, without one, for taints of boards. */
  view(limits: ActLimits, now: Instant, namespace?: string): ValveView {
    // The free acts (see `#free`) are left out: the Lease counts them, but the next act can use one at once, and unused ones
    // are returned.
    const valve = { ...this.#current, admitted: this.#sent + this.#asked };
    const limit = limits.acts(now);
    const acts = actsWithin(valve, now);
    const seen = { acts, isUnknown: isUnknown(valve, now) };
    const ofAll = { ...seen, of: "acts", usedByNamespace: undefined, opensAt: roomAt(valve, limit, now) } as const;
    if (namespace === undefined || acts >= limit) return ofAll;
    const forPods = limit - keptForTaints(limit);
    const used = this.#byNamespace.of(namespace, now);
    const isShareUsed = acts < forPods && !seen.isUnknown && this.#roomIn(valve, limits, namespace, now) === 0;
    if (isShareUsed) return { ...seen, of: "share", usedByNamespace: used, opensAt: oldestActEnd(valve, now) };
    return { ...seen, of: "pods", usedByNamespace: used, opensAt: roomAt(valve, forPods, now) };
  }

  /** The namespaces whose pods used most of the acts in this term, within the last hour. */
  mostUsed(count: number, now: Instant): readonly NamespaceCount[] {
    return this.#byNamespace.most(count, now);
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

  /** Takes one act; if none is free, first writes further acts to the Lease. Returns when the act was taken. */
  async #take(limits: ActLimits, namespace: string | undefined, term: number): Promise<Instant> {
    this.#waiting.set(namespace, (this.#waiting.get(namespace) ?? 0) + 1);
    try {
      for (;;) {
        const takenAt = this.#taken(limits, namespace);
        if (takenAt !== undefined) return takenAt;
        if (this.#roomIn(this.#current, limits, namespace, this.#ambient.clock.now()) === 0) throw this.#refusal();
        await this.#ask(limits);
        if (this.#term !== term) throw new LeaseNotWrittenError("the term ended before the release was written");
      }
    } finally {
      const others = (this.#waiting.get(namespace) ?? 0) - 1;
      if (others > 0) this.#waiting.set(namespace, others);
      else this.#waiting.delete(namespace);
    }
  }

  /** Reuses the count of an earlier attempt whose effect is uncertain. Returns whether there was such an attempt. */
  #isTakenAgain(act: string): boolean {
    const at = this.#uncertain.get(act);
    this.#uncertain.delete(act);
    if (at === undefined || !isCounted(at, this.#ambient.clock.now())) return false;
    this.#valve = withoutAct(this.#valve, at);
    this.#sent++;
    return true;
  }

  /**
   * Takes an act that is already on the Lease. Returns when it was taken; undefined if none is free for this namespace.
   */
  #taken(limits: ActLimits, namespace: string | undefined): Instant | undefined {
    const now = this.#ambient.clock.now();
    const used = { ...this.#valve, admitted: this.#sent };
    if (this.#free === 0 || this.#roomIn(used, limits, namespace, now) === 0) return undefined;
    this.#free--;
    this.#sent++;
    if (namespace !== undefined) this.#byNamespace.add(namespace, now);
    return now;
  }

  /** How many further acts the limits permit, on pods of this namespace or, without one, on boards. */
  #roomIn(valve: Valve, limits: ActLimits, namespace: string | undefined, now: Instant): number {
    const limit = limits.acts(now);
    const room = roomIn(valve, limit, now);
    if (namespace === undefined) return room;
    const open = Math.max(0, room - keptForTaints(limit));
    const namespaces = limits.namespaces(now);
    const used = this.#byNamespace.of(namespace, now);
    const all = this.#byNamespace.all(namespaces, now);
    const idle = used === 0 && namespaces.has(namespace) ? all.idle - 1 : all.idle;
    return roomInShare(open, { used, usedByAll: all.acts, idle, share: limits.shareOf(namespace, now) });
  }

  /** Writes further acts to the Lease: one for each caller that waits, as far as the limits permit. */
  #ask(limits: ActLimits): Promise<void> {
    this.#asking ??= this.#write(limits, this.#term).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #write(limits: ActLimits, term: number): Promise<void> {
    const { clock } = this.#ambient;
    // Calls that are made at the same moment share a write.
    await Promise.resolve();
    const room = this.#roomForWaiting(limits, clock.now());
    this.#asked = room;
    this.#total = Math.min(this.#total + room, Number.MAX_SAFE_INTEGER);
    const total = this.#total;
    try {
      await writtenWithin(clock, patience, this.#deps.publish);
      if (this.#term !== term) return;
      this.#free += room;
      this.#writtenTotal = total;
    } finally {
      // Correct even in a new term, because the next write begins only after this one.
      this.#asked = 0;
    }
    this.#own = { valve: this.#current, lease: this.#lease, at: clock.now() };
    this.#deps.memory.write(this.#own, "at once");
  }

  /**
   * For how many of the waiting callers the limits have room. The callers for pods together must leave the acts that
   * are kept for taints.
   */
  #roomForWaiting(limits: ActLimits, now: Instant): number {
    const valve = this.#current;
    const limit = limits.acts(now);
    const room = roomIn(valve, limit, now);
    const forBoards = this.#waiting.get(undefined) ?? 0;
    const forPods = [...this.#waiting].reduce(
      (sum, [namespace, callers]) =>
        namespace === undefined ? sum : sum + Math.min(callers, this.#roomIn(valve, limits, namespace, now)),
      0,
    );
    return Math.min(room, forBoards + Math.min(forPods, Math.max(0, room - keptForTaints(limit))));
  }

  #refusal(): ValveError {
    this.#refusedAt = this.#ambient.clock.now();
    return new ValveError("the safety valve holds the act: the limit of harmful acts per hour is reached");
  }

  #settle(act: string, effect: ActEffect): void {
    const now = this.#ambient.clock.now();
    this.#sent--;
    if (effect === "none") {
      // The act is already counted on the Lease, so another one may be sent in its place.
      this.#free++;
      return;
    }
    this.#valve = withAct(this.#valve, now);
    if (effect === "done") return;
    const [oldest] = this.#uncertain.keys();
    if (this.#uncertain.size >= maxUncertain && oldest !== undefined) this.#uncertain.delete(oldest);
    this.#uncertain.set(act, now);
  }

  #setHolding(isHolding: boolean): void {
    if (isHolding === (this.#holdingSince !== undefined)) return;
    this.#holdingSince = isHolding ? this.#ambient.clock.now() : undefined;
    if (!isHolding) this.#refusedAt = undefined;
    this.#deps.changed(isHolding);
  }
}
