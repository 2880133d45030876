import { microTimestamp } from "../api/timestamps.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import { isOvertaken } from "../client/api-error.ts";
import { type LeaseRecord, renewalMark } from "./lease-record.ts";
import {
  type Candidate,
  type CandidateStep,
  isOutdated,
  type LeaderStep,
  nextCandidateStep,
  nextLeaderStep,
  type Observation,
  observe,
} from "./lease-rules.ts";

/** Maximum number of own writes remembered: far more than can be unanswered at the same time. */
const maxMarks = 64;

/** A read of the Lease by a candidate, and the step that follows from it. */
export interface CandidateReading {
  readonly step: CandidateStep;
  readonly seen: Observation;
  /** Whether the Lease has a write of this process whose answer never arrived. */
  readonly isUnanswered: boolean;
}

/** A board's view of the Lease, updated by each of its reads and writes. */
export class LeaseObserver {
  readonly #ambient: Ambient;
  readonly #candidate: Candidate;
  readonly #formerTerm: number | undefined;
  readonly #shownTerm: () => number | undefined;
  readonly #remember: (term: number) => void;
  readonly #wentBack: () => void;
  readonly #own = new OwnWrites();
  #seen: Observation | undefined;
  #holderSince: Instant | undefined;
  #lastHolder: string | undefined;

  /**
   * `formerTerm`: the highest term that earlier processes of this board saw; undefined if there is none. `shownTerm`:
   * the highest term that this process read outside of the election. `remember` stores each new highest term for later
   * processes of this board. `wentBack` is called if the first Lease that is read has a lower term than `formerTerm`, or
   * is missing.
   */
  constructor(
    ambient: Ambient,
    {
      candidate,
      formerTerm,
      shownTerm,
      remember,
      wentBack,
    }: {
      readonly candidate: Candidate;
      readonly formerTerm: number | undefined;
      readonly shownTerm: () => number | undefined;
      readonly remember: (term: number) => void;
      readonly wentBack: () => void;
    },
  ) {
    this.#ambient = ambient;
    this.#candidate = candidate;
    this.#formerTerm = formerTerm;
    this.#shownTerm = shownTerm;
    this.#remember = remember;
    this.#wentBack = wentBack;
  }

  get seen(): Observation | undefined {
    return this.#seen;
  }

  /** When this board first saw the current holder; undefined if the Lease has not been read yet. */
  get holderSince(): Instant | undefined {
    return this.#holderSince;
  }

  /** The last holder that this process saw give up or lose the Lease; undefined if there was none. */
  get lastHolder(): string | undefined {
    return this.#lastHolder;
  }

  /**
   * Sends a write to the Lease. Unless it fails with a conflict, the write may have been applied, and is remembered as
   * our own.
   */
  async write(began: Instant, send: () => Promise<LeaseRecord>): Promise<LeaseRecord> {
    this.#own.add(began);
    try {
      return await send();
    } catch (error) {
      if (isOvertaken(error)) this.#own.remove(began);
      throw error;
    }
  }

  /** The next step of a leader that has just read this Lease. */
  asLeader(record: LeaseRecord | undefined): LeaderStep {
    return nextLeaderStep(this.#observe(record, { leading: true }));
  }

  /** Called after this board, as the leader, has written this Lease. */
  noteWritten(record: LeaseRecord): void {
    this.#observe(record, { leading: true });
  }

  /** The next step of a candidate that has just read this Lease. */
  asCandidate(record: LeaseRecord | undefined): CandidateReading {
    const known = this.#seen?.state.record?.renewal;
    const seen = this.#observe(record, { leading: false });
    const { is, record: { renewal } = {} } = seen.state;
    const isUnanswered = is === "ours" && renewal !== undefined && renewal !== known && this.#own.has(renewal);
    return { step: nextCandidateStep(seen, this.#candidate, this.#ambient.clock.now()), seen, isUnanswered };
  }

  #observe(record: LeaseRecord | undefined, { leading }: { readonly leading: boolean }): Observation {
    const { clock, log } = this.#ambient;
    const { identity } = this.#candidate;
    const before = this.#seen;
    const isFormerOver = this.#formerTerm !== undefined && (!record || isOutdated(record, this.#formerTerm));
    if (before === undefined && isFormerOver) this.#wentBack();
    const knownTerm = highest(this.#formerTerm, this.#shownTerm());
    const isOwnRenewal = (renewal: number): boolean => this.#own.has(renewal);
    const reading = { record, at: clock.now(), leading, isOwnRenewal, knownTerm };
    const seen = observe(before, reading, this.#candidate);
    this.#seen = seen;
    if (seen.state.is === "contested" && before?.state.is !== "contested") {
      log.error("another process writes the Lease under this agent's identity", { identity });
    }
    const stored = before?.highestTerm ?? this.#formerTerm;
    if (seen.highestTerm !== undefined && seen.highestTerm !== stored) this.#remember(seen.highestTerm);
    const { holder, term } = before?.state.record ?? {};
    if (holder !== record?.holder || term !== record?.term) {
      this.#holderSince = reading.at;
      if (holder !== undefined && holder !== record?.holder) this.#lastHolder = holder;
      log.info("lease holder changed", { holder: record?.holder ?? "", term: record?.term });
    }
    return seen;
  }
}

const highest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);

/**
 * The writes to the Lease that this process sent, including those whose answer was lost. A write is identified by its
 * renewTime, which is not interpreted as a time here.
 */
export class OwnWrites {
  readonly #marks = new Set<number>();

  /** Remembers a write that is about to be sent. */
  add(began: Instant): void {
    const mark = renewalMark(microTimestamp(began));
    if (mark === undefined) return;
    this.#marks.add(mark);
    for (const oldest of this.#marks) {
      if (this.#marks.size <= maxMarks) break;
      this.#marks.delete(oldest);
    }
  }

  /** Forgets a rejected write. If a Lease later shows its mark, another process wrote it. */
  remove(began: Instant): void {
    const mark = renewalMark(microTimestamp(began));
    if (mark !== undefined) this.#marks.delete(mark);
  }

  has(mark: number): boolean {
    return this.#marks.has(mark);
  }
}
