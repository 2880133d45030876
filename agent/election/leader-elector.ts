import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { ConfigError, hintOf, sentenceOf } from "../base/errors.ts";
import { jitterFactor, type LeaseTiming, writtenSeconds } from "../base/lease-timing.ts";
import type { Progress } from "../base/progress.ts";
import { jitter } from "../base/random.ts";
import { isFatal } from "../base/reaction.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { isOfLink, isOvertaken } from "../client/api-error.ts";
import type { ObjectRef } from "../execution/actions.ts";
import { FencedError } from "./fence.ts";
import { type Failure, Leadership, type LeadershipParts } from "./leadership.ts";
import { LeaseObserver, patience, within } from "./lease-observer.ts";
import { type Candidate, candidateProblems, type LeaseRecord, type LeaseStep } from "./lease-rules.ts";
import { TermOver } from "./term.ts";

export interface ElectorParts
  extends Omit<Candidate, "headStart">,
    Omit<LeadershipParts, "candidate" | "sight" | "announce" | "saw"> {
  /** expiry: followers read when the observed term would end. poll: after each jittered retry period, as client-go. */
  readonly followers: "expiry" | "poll";
  /** Why this board should not lead at present. */
  readonly mayStand: (leaderlessFor: Millis) => string | undefined;
  /** Receives the Lease's annotations after every read by this board, whether or not it leads. */
  readonly saw?: LeadershipParts["saw"];
  /** Until when this board does not stand, as an earlier process of it noted. */
  readonly formerRest?: Rest | undefined;
  /** Called before the Lease is released: the next process gets the rest as `formerRest`. Undefined: it is over. */
  readonly rests?: (rest: Rest | undefined) => void;
  /** Called with each term above all that this board knew: the next process gets it as `formerTerm`. */
  readonly remember?: (term: number) => void;
  /** Takes the Events "became leader" and "stopped leading". */
  readonly announce?: LeadershipParts["announce"];
}

export interface Rest {
  readonly until: Instant;
  readonly why: string;
}

export interface ElectorView {
  readonly role: "leader" | "follower";
  readonly identity: string;
  /** "": no holder; undefined: not known. */
  readonly holder: string | undefined;
  readonly term: number | undefined;
  /** When this board first saw the present holder. */
  readonly since: Instant | undefined;
  /** Time since the Lease was last seen to change. */
  readonly leaseAge: Millis | undefined;
  readonly leaseDuration: Millis;
  /** Another process renews the Lease under our identity. */
  readonly namesake: boolean;
  readonly renewP95: Millis | undefined;
  /** In the present term, or in the last one of this process. */
  readonly missedRenewals: number;
  /** Why this board does not stand for election; undefined: it stands. */
  readonly notStanding: string | undefined;
  /** Why the last attempt to acquire or renew the Lease failed. Losing to a faster board is no failure. */
  readonly lastError: ElectionError | undefined;
  /** How the last term of this process ended; undefined: it leads, or never led. */
  readonly ended: { readonly at: Instant; readonly why: string } | undefined;
}

interface ElectionError {
  readonly message: string;
  readonly hint: string | undefined;
  readonly at: Instant;
  /** There was no answer; the state of the link already shows that. */
  readonly isOfLink: boolean;
}

interface Won {
  readonly record: LeaseRecord;
  readonly began: Instant;
  /** The annotations of `record` were written before this instant. */
  readonly written: Instant;
}

type Attempt = { readonly won: Won } | { readonly pause: Millis };

/** With followers "expiry", a failed attempt is repeated after 1 to 5 retry periods, further ones after 3 to 7. */
const [soonest, soonestAgain, spread] = [1, 3, 4];

/**
 * Stands for election until the process ends. Losing the Lease ends the work of the term and nothing else. A term:
 *
 * 1. Every board reads the Lease and times its changes on its own clock; times that others wrote count for nothing.
 * 2. While another board holds it, a follower waits until the last change that it saw is a full duration old.
 * 3. If the Lease is absent, released, expired or held by its former process, and `mayStand` agrees, it claims it.
 * 4. `#claim` writes the holder and the highest term seen plus one. A conflict means that another board was faster.
 * 5. `#lead` opens a `Leadership`: its term is trusted from the start of the claim, for the duration less a margin.
 * 6. `Leadership` runs the work (`lead`) and renews the Lease every `retry`; each renewal extends the trust.
 * 7. `fence` checks the term right before each write of that work: nothing is sent once another board may lead.
 * 8. A term ends on stop, step-down or end of work, after `renewDeadline` without renewal, or with a lost Lease.
 * 9. Its signal aborts. Once the work has ended, a Lease that is still ours is released: nobody has to wait for it.
 * 10. The board follows again, from step 1; after a step-down it does not stand before its rest is over.
 */
export class LeaderElector {
  readonly #ambient: Ambient;
  readonly #parts: ElectorParts;
  readonly #candidate: Candidate;
  readonly #sight: LeaseObserver;
  readonly #bell: WakeSignal;
  #leadership: Leadership | undefined;
  /** The work of the present term, or of the last one. */
  #leading: Promise<unknown> = Promise.resolve();
  #rest: (Rest & { readonly isNoted: boolean }) | undefined;
  /** When this board first found the Lease free to claim. */
  #freeSince: Instant | undefined;
  #notStanding: string | undefined;
  #error: Failure | undefined;
  /** When the attempt under way must be over, or the next one begins. */
  #next: Instant | "idle" = "idle";

  constructor(ambient: Ambient, parts: ElectorParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#candidate = { ...parts, headStart: headStart(parts) };
    this.#rest = parts.formerRest && { ...parts.formerRest, isNoted: true };
    this.#sight = new LeaseObserver(ambient, { candidate: this.#candidate, remember: parts.remember ?? (() => {}) });
    this.#bell = new WakeSignal(ambient.clock);
  }

  view(): ElectorView {
    const now = this.#ambient.clock.now();
    const { seen, holderSince } = this.#sight;
    const record = seen?.record;
    const leads = this.#leadership?.term.standsAt(now) ?? false;
    const renewals = this.#leadership?.stats();
    const failure = leads ? renewals?.failure : this.#error;
    const over = leads ? undefined : this.#leadership?.term.signal.reason;
    return {
      role: leads ? "leader" : "follower",
      identity: this.#parts.identity,
      holder: record?.holder,
      term: record?.transitions,
      since: holderSince,
      leaseAge: seen && elapsed(seen.since, now),
      leaseDuration: record?.durationSeconds ? record.durationSeconds * 1000 : this.#parts.timing.duration,
      namesake: seen?.namesake ?? false,
      renewP95: renewals?.renewP95,
      missedRenewals: renewals?.missed ?? 0,
      notStanding: leads ? undefined : this.#reasonNotToStand(),
      lastError: failure && {
        message: sentenceOf(failure.error),
        hint: hintOf(failure.error),
        at: failure.at,
        isOfLink: isOfLink(failure.error),
      },
      ended: over instanceof TermOver ? { at: over.at, why: over.why } : undefined,
    };
  }

  /** The site's Lease, for Events about the site; undefined: this process has never led. */
  get lease(): ObjectRef | undefined {
    return this.#leadership?.about;
  }

  /** When the attempt or renewal under way must be over, or the next one begins. Idle outside of `run`. */
  progress(): Progress {
    const [next, renewal] = [this.#next, this.#leadership?.next];
    return { name: "election", at: next !== "idle" && renewal && elapsed(next, renewal) > 0 ? renewal : next };
  }

  /** Reads the Lease now, on a hint that its holder may be gone. No term gets shorter by it. */
  look(): void {
    this.#bell.ring();
  }

  /** Releases the Lease if this board holds it, and does not stand again for `rest`. */
  stepDown(why: string, rest: Millis): void {
    this.#rest = { until: shifted(this.#ambient.clock.now(), rest), why, isNoted: false };
    this.#leadership?.leave(why);
  }

  /**
   * Releases the Lease on an operator's order: for `to` if a board is named, and with a rest that survives restarts.
   * Resolves once the work of the term is over; false: the Lease was not ours or could not be released, so others wait
   * for its expiry.
   */
  async handOver(
    why: string,
    { rest, to, message }: { readonly rest: Millis; readonly to: string | undefined; readonly message: string },
  ): Promise<boolean> {
    const leadership = this.#leadership;
    const until = shifted(this.#ambient.clock.now(), rest);
    // Noted before the release: whatever happens then, this board does not acquire the Lease again.
    this.#parts.rests?.({ until, why });
    this.#rest = { until, why, isNoted: true };
    if (leadership === undefined) return false;
    const { about, trusted } = leadership;
    this.#parts.announce?.({ do: "event", about, severity: "Normal", reason: "LeaderStepDown", message }, trusted);
    leadership.leave(why, to);
    await this.#leading;
    return leadership.isReleased;
  }

  /** Writes the carried annotations into the Lease now. Rejects if this board does not lead, or no longer does. */
  async renewNow(): Promise<void> {
    if (this.#leadership === undefined) throw new FencedError("another board leads");
    await this.#leadership.renewNow();
  }

  /** Ends when the signal aborts, after the work of the term has ended and its Lease was released. */
  async run(signal: AbortSignal): Promise<void> {
    const problems = candidateProblems(this.#parts);
    if (problems.length > 0) throw new ConfigError(problems);
    while (!signal.aborted) {
      const next = await this.#attempt(signal);
      if ("won" in next) await this.#lead(next.won, signal);
      else {
        this.#next = shifted(this.#ambient.clock.now(), next.pause);
        await this.#bell.wait(signal, next.pause);
      }
    }
    this.#next = "idle";
  }

  async #attempt(signal: AbortSignal): Promise<Attempt> {
    const { clock, random, log } = this.#ambient;
    const { lock, timing } = this.#parts;
    const pause = jitter(random, timing.retry, jitterFactor);
    const bound = within(clock, patience(timing), signal);
    this.#next = shifted(clock.now(), patience(timing));
    try {
      const step = this.#sight.take(await lock.read(bound.signal), false);
      const wasAway = this.#error !== undefined;
      this.#error = undefined;
      const written = this.#sight.seen?.since ?? clock.now();
      const { record: seen } = this.#sight.seen ?? {};
      if (seen) this.#parts.saw?.({ annotations: seen.annotations, written });
      if (step.do === "wait") {
        this.#freeSince = undefined;
        return { pause: this.#pauseUntil(step.until, pause, wasAway) };
      }
      this.#freeSince ??= clock.now();
      const reason = this.#reasonNotToStand();
      if (reason !== this.#notStanding) log.info(reason ? "not standing for election" : "standing again", { reason });
      this.#notStanding = reason;
      if (reason !== undefined) return { pause };
      const began = clock.now();
      const record = await this.#sight.write(began, () => this.#claim(step, began, bound.signal));
      this.#sight.take(record, true);
      return { won: { record, began, written } };
    } catch (error) {
      if (signal.aborted) return { pause };
      if (isOvertaken(error)) {
        // The normal way not to be elected. The next read shows the leader; losers spread these reads.
        log.debug("another board was faster", { error });
        return { pause: this.#parts.followers === "poll" ? pause : timing.retry * random.next() };
      }
      const isFirst = this.#error === undefined;
      if (isFirst) log[isOfLink(error) ? "debug" : "warn"]("lease not taken", { error, hint: hintOf(error) });
      this.#error = { error, at: clock.now() };
      return { pause: this.#parts.followers === "poll" ? pause : this.#pauseAfterFailure(isFirst) };
    } finally {
      bound.dispose();
    }
  }

  /** A claim that was delayed is not sent any more: the Lease may have changed meanwhile. */
  #claim(step: LeaseStep, began: Instant, signal: AbortSignal): Promise<LeaseRecord> {
    const { clock } = this.#ambient;
    const { lock, identity, timing } = this.#parts;
    const guard = (): void => {
      if (elapsed(began, clock.now()) > patience(timing)) throw new FencedError("the attempt to lead is too old");
    };
    const durationSeconds = writtenSeconds(timing.duration);
    const write = { signal, guard };
    switch (step.do) {
      case "create":
        return lock.create({ holder: identity, durationSeconds, term: step.term }, began, write);
      case "take":
        return lock.take(step.record, { holder: identity, durationSeconds, term: step.term }, began, write);
      case "renew":
        return lock.renew(step.record, { durationSeconds, carried: {} }, began, write);
      default:
        throw new Error(`a candidate cannot ${step.do}`);
    }
  }

  async #lead(won: Won, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    const { lock, lead, carried, saw = () => {}, announce = () => {}, timing } = this.#parts;
    const parts = { lock, lead, carried, saw, announce, candidate: this.#candidate, sight: this.#sight };
    const leadership = new Leadership(this.#ambient, parts, won);
    if (!leadership.term.standsAt(clock.now())) return;
    this.#leadership = leadership;
    this.#freeSince = undefined;
    try {
      const work = leadership.run(signal);
      this.#leading = work.catch(() => {});
      const ending = await work;
      if (ending === "idle") this.stepDown("its work ended", timing.duration);
    } catch (error) {
      if (isFatal(error)) throw error;
      log.error("the work of the term failed", { term: leadership.term.number, error });
      this.stepDown(`its work failed: ${sentenceOf(error)}`, timing.duration);
    } finally {
      this.#next = clock.now();
    }
  }

  #reasonNotToStand(): string | undefined {
    if (this.#rest && elapsed(this.#ambient.clock.now(), this.#rest.until) > 0) return this.#rest.why;
    const over = this.#rest;
    this.#rest = undefined;
    if (over?.isNoted) this.#forgetRest();
    return this.#parts.mayStand(this.#freeSince ? elapsed(this.#freeSince, this.#ambient.clock.now()) : 0);
  }

  #forgetRest(): void {
    try {
      this.#parts.rests?.(undefined);
    } catch (error) {
      this.#ambient.log.warn("a rest that is over stays noted", { error });
    }
  }

  /**
   * Nobody can acquire the Lease before `until`; "poll" reads earlier, at client-go's pace, to see renewals. A Lease that
   * was written for longer than ours is read again meanwhile: somebody may correct it.
   */
  #pauseUntil(until: Instant, pause: Millis, wasAway: boolean): Millis {
    if (this.#parts.followers === "poll") return pause;
    const { clock, random } = this.#ambient;
    const rest = Math.min(Math.max(0, elapsed(clock.now(), until)), longestSleep(this.#parts.timing));
    // Boards that reached a recovered server within seconds would otherwise keep reading within the same seconds.
    if (wasAway) return rest * (1 - random.next());
    // A takeover may need two reads, each at most half a retry late: it takes at most two durations and a retry.
    return rest + (random.next() * this.#parts.timing.retry) / 2;
  }

  /**
   * Spreads boards that lost the same server: a hundred of them within one second would be its next outage. While it is
   * away they fall out of step; the longer each pauses, the fewer come in the second of its return.
   */
  #pauseAfterFailure(isFirst: boolean): Millis {
    const { random } = this.#ambient;
    return this.#parts.timing.retry * ((isFirst ? soonest : soonestAgain) + spread * random.next());
  }
}

/** A Lease that was written for no longer than ours ends before that. */
const longestSleep = ({ duration, retry }: LeaseTiming): Millis => duration + retry;

/** The longest time that the named successor may sleep before it reads the Lease again. */
const headStart = ({ followers, timing: { duration, retry } }: ElectorParts): Millis =>
  followers === "poll" ? 2 * jitterFactor * retry : duration + retry;
