import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { BoardHealth, Sickness } from "../board/board-health.ts";
import {
  type Peer,
  reasonNotToStand,
  reasonOfBrokenTerms,
  reasonToLeaveUnseen,
  reasonToStepDown,
  standingBy,
  termHolds,
} from "../board/sick-leader.ts";
import type { Config } from "../config/settings.ts";
import type { LeaderMemo } from "../election/leader-memo.ts";
import type { QuietHours } from "../holds/hold-book.ts";

/** The health of this board, as reported by the companion that watches it. */
export interface WatchedBoard extends BoardHealth {
  /** The quiet hours in force at that time, in which nothing is evicted; undefined if there are none. */
  quietHoursAt(now: Instant): QuietHours | undefined;
}

export interface FitnessDeps {
  readonly leader: Pick<Config["leader"], "duration" | "sickFor">;
  /** How the last terms of this board ended. */
  readonly terms: Pick<LeaderMemo, "brokenTerms" | "resetBrokenTerms" | "deferred">;
  /** Why this board must not lead, even if no other board can; undefined if it may. */
  readonly barred: () => string | undefined;
}

/** Number of Lease durations for which an unwell board does not stand for election. */
const restDurations = 2;

/**
 * A process that has run for this long is not in a crash loop. After the same time, a leader may leave the Lease to
 * others again because it is deaf, unable to act or isolated.
 */
const calm: Millis = 3_600_000;

/**
 * Decides whether this board is healthy enough to lead (docs/judgement.md#unwell-boards). Without a companion that
 * watches it, the board counts as healthy.
 */
export class Fitness {
  readonly #ambient: Ambient;
  readonly #deps: FitnessDeps;
  #self: WatchedBoard | undefined;
  /** Whether this process has left the Lease to others because of broken terms. */
  #hasDeferred = false;
  /** When this process last left the Lease to others because it was deaf, unable to act, or isolated. */
  #leftDeaf: Instant | undefined;
  #peers: () => Iterable<Peer> | undefined = () => [];

  constructor(ambient: Ambient, deps: FitnessDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** Connects the companion that watches this board. */
  attachBoardWatch(self: WatchedBoard): void {
    this.#self = self;
  }

  /** Connects the caches that show the other boards of the site; undefined if they have never been filled. */
  attachPeers(peers: () => Iterable<Peer> | undefined): void {
    this.#peers = peers;
  }

  quietHoursAt(now: Instant): QuietHours | undefined {
    return this.#self?.quietHoursAt(now);
  }

  /** How long an unwell board does not stand for election, to let another one lead. */
  get restAfterLeaving(): Millis {
    return restDurations * this.#deps.leader.duration;
  }

  /** Why this board should not lead now; undefined if it is fit to lead. */
  get unwell(): string | undefined {
    return this.#deps.barred() ?? this.#self?.sickness()?.why ?? reasonOfBrokenTerms(this.#deps.terms.brokenTerms);
  }

  /** Why this board should not stand for election; undefined if it may. */
  whyNotToStand(leaderlessFor: Millis): string | undefined {
    const barred = this.#deps.barred();
    if (barred !== undefined) return barred;
    const why = this.#self?.sickness()?.why ?? this.#whyToDefer();
    return reasonNotToStand(why, { leaderlessFor, patience: this.restAfterLeaving });
  }

  /** Called when this board leaves a free Lease to others. */
  standsAside(): void {
    if (this.#hasDeferred || reasonOfBrokenTerms(this.#deps.terms.brokenTerms) === undefined) return;
    this.#hasDeferred = true;
    this.#store(() => this.#deps.terms.deferred());
  }

  /**
   * Why this board, which leads, should step down; undefined if it may continue. `deafness`: it receives nothing from
   * the API server. `incapacity`: it receives everything, but cannot act or judge.
   */
  whyToLeave(
    now: Instant,
    {
      deafness,
      incapacity,
    }: { readonly deafness?: Sickness | undefined; readonly incapacity?: Sickness | undefined } = {},
  ): string | undefined {
    const limit = { now, sickFor: this.#deps.leader.sickFor };
    const peers = this.#peers() ?? [];
    const why = reasonToStepDown(this.#self?.sickness(), peers, limit) ?? this.#whyToLeaveDeaf(deafness, limit);
    if (why !== undefined || !this.mayLeaveDeaf(now)) return why;
    return this.#leftFor(reasonToStepDown(incapacity, peers, limit), now);
  }

  /**
   * Whether a leader that is deaf, unable to act or isolated may leave the Lease for that reason. A process does so at
   * most once an hour, because if every API server or the whole LAN is at fault, passing the Lease around does not
   * help.
   */
  mayLeaveDeaf(now: Instant): boolean {
    return this.#leftDeaf === undefined || elapsed(this.#leftDeaf, now) >= calm;
  }

  /** Why a deaf leader should step down in favour of a standby that it found, but that its cache does not show. */
  whyToLeaveTo(found: Peer, deafness: Sickness | undefined, now: Instant): string | undefined {
    return this.#leftFor(reasonToStepDown(deafness, [found], { now, sickFor: this.#deps.leader.sickFor }), now);
  }

  /**
   * Why a deaf leader should step down. A leader that has never listed the boards judges none, so it steps down even if
   * it knows of no standby.
   */
  #whyToLeaveDeaf(
    deafness: Sickness | undefined,
    limit: { readonly now: Instant; readonly sickFor: Millis },
  ): string | undefined {
    if (!this.mayLeaveDeaf(limit.now)) return undefined;
    const peers = this.#peers();
    const why = peers ? reasonToStepDown(deafness, peers, limit) : reasonToLeaveUnseen(deafness, limit);
    return this.#leftFor(why, limit.now);
  }

  #leftFor(why: string | undefined, now: Instant): string | undefined {
    if (why !== undefined) this.#leftDeaf = now;
    return why;
  }

  /** Resets the count of broken terms once this term has lasted `termHolds`, or ends cleanly before that. */
  async duringTerm(signal: AbortSignal): Promise<void> {
    await sleep(this.#ambient.clock, termHolds, signal);
    this.#forgetBroken();
  }

  /** Forgets broken terms once this process has run for long enough, regardless of whether it led. */
  async run(signal: AbortSignal): Promise<void> {
    await sleep(this.#ambient.clock, calm, signal);
    if (!signal.aborted) this.#forgetBroken();
  }

  /** Broken terms count only if there is a standby; on a single-board site, that board leads again immediately. */
  #whyToDefer(): string | undefined {
    const why = reasonOfBrokenTerms(this.#deps.terms.brokenTerms);
    return why !== undefined && standingBy(this.#peers() ?? []) !== undefined ? why : undefined;
  }

  #forgetBroken(): void {
    this.#store(() => this.#deps.terms.resetBrokenTerms());
  }

  #store(change: () => void): void {
    try {
      change();
    } catch (error) {
      this.#ambient.log.warn("the count of terms that ended early cannot be reset", { error });
    }
  }
}
