import { elapsed, type Instant, isAfter, laterOf, type Millis, shifted } from "../base/clock.ts";
import { type LeaseTiming, maxLeaseDuration } from "../base/lease-timing.ts";
import { type LeaseRecord, maxTerm } from "./lease-record.ts";

/*
 * The rules of the Lease, as pure functions. `observe` turns each read of the Lease into a `LeaseState`, and
 * `nextCandidateStep` and `nextLeaderStep` decide what to do in that state. They keep two boards from leading at the
 * same time:
 *
 * 1. No board claims the Lease while another process may believe that it leads; `othersMayLeadUntil` has the rule.
 * 2. Times in a Lease are never used as times, because another board's clock wrote them. This board measures on its own
 *    clock how long the Lease has not changed: a holder that does not renew it for the duration that it wrote has lost
 *    it.
 * 3. Each claim writes a higher term than any that the board has seen, even into a Lease that was recreated. A Lease
 *    with a lower one is *outdated*: it is from a backup, and other boards have led since it was written.
 * 4. A leader renews only its own Lease. Any other Lease, or none, ends its term.
 *
 * A new state is a row and a member of `LeaseState` and a line in `stateOf`; the compiler then asks for its two steps.
 */

/**
 * The meaning of the Lease for this board, and what follows from it:
 *
 * state     | the Lease                             | a candidate              | a leader
 * ----------|---------------------------------------|--------------------------|-----------
 * absent    | does not exist                        | waits, then creates it   | steps down
 * free      | names no holder                       | waits (*), then takes it | steps down
 * ours      | names this process                    | renews it; takes it (+)  | renews it
 * inherited | names our last process, which is gone | takes it                 | steps down
 * held      | names another process, or is outdated | waits, then takes it     | steps down
 * contested | ours, but another process renews it   | waits, then takes it     | steps down
 *
 * `blockedUntil`: how long a candidate waits at least; undefined if no other process can believe that it leads.
 * (*) If the Lease names a successor, the others also wait for that board's head start, which counts from `freeSince`:
 * when this board first saw the Lease free in this term, for this successor. (+) if it is outdated.
 *
 * `foreignRenewalAt`: when another process last renewed the Lease under our identity; undefined if never.
 */
export type LeaseState =
  | { readonly is: "absent"; readonly record: undefined; readonly blockedUntil: Instant | undefined }
  | {
      readonly is: "free";
      readonly record: LeaseRecord;
      readonly blockedUntil: Instant | undefined;
      readonly freeSince: Instant;
    }
  | { readonly is: "ours"; readonly record: LeaseRecord; readonly foreignRenewalAt: Instant | undefined }
  | { readonly is: "inherited"; readonly record: LeaseRecord }
  | { readonly is: "held"; readonly record: LeaseRecord; readonly blockedUntil: Instant | undefined }
  | {
      readonly is: "contested";
      readonly record: LeaseRecord;
      readonly blockedUntil: Instant | undefined;
      readonly foreignRenewalAt: Instant | undefined;
    };

/** This board's knowledge of the Lease. */
export interface Observation {
  readonly state: LeaseState;
  /** When this board last saw the Lease change. Every edit counts, even one of a label by another client. */
  readonly changedAt: Instant;
  /**
   * The highest term ever seen; the next claim writes a higher one, even into a recreated Lease. Undefined if none has
   * been seen.
   */
  readonly highestTerm: number | undefined;
}

/** One read of the Lease, or the result of one of our writes, and what this process knows at that moment. */
export interface LeaseReading {
  /** Undefined if there is no Lease. */
  readonly record: LeaseRecord | undefined;
  readonly at: Instant;
  /** Whether this board is leading. */
  readonly leading: boolean;
  /** Whether this process sent the renewal with this mark. */
  readonly isOwnRenewal: (renewal: number) => boolean;
  /**
   * The highest term that this board knows of from elsewhere: from its earlier processes, or from other readers of the
   * Lease in this process; undefined if there is none.
   */
  readonly knownTerm?: number | undefined;
}

/** This process as a candidate. None of these values changes while the process runs. */
export interface Candidate {
  readonly identity: string;
  /** This board's name, by which it recognises itself as a successor; undefined if it never is one. */
  readonly board?: string | undefined;
  readonly timing: LeaseTiming;
  /**
   * How long the other boards wait for a named successor to claim the Lease: the longest pause between two reads by
   * that board.
   */
  readonly headStart?: Millis | undefined;
  /** The identity of this board's previous process, if that process is certainly gone. */
  readonly formerIdentity?: string | undefined;
}

/** The observation after another read of the Lease. */
export function observe(before: Observation | undefined, reading: LeaseReading, candidate: Candidate): Observation {
  const { record, at, knownTerm } = reading;
  const terms = [before?.highestTerm, record?.term, knownTerm].filter((term) => term !== undefined);
  const highestTerm = terms.length === 0 ? undefined : Math.max(...terms);
  const last = before?.state.record;
  const isUnchanged = last?.uid === record?.uid && last?.resourceVersion === record?.resourceVersion;
  if (before && isUnchanged) return { ...before, highestTerm };
  const outdated = record !== undefined && isOutdated(record, highestTerm);
  return { state: stateOf(before, { ...reading, outdated }, candidate), changedAt: at, highestTerm };
}

/** A read that shows a change of the Lease. `outdated`: whether it shows a Lease from a backup. */
type ChangedLease = LeaseReading & { readonly outdated: boolean };

/** The state of a Lease that has changed since the last read. */
function stateOf(
  before: Observation | undefined,
  reading: ChangedLease,
  { identity, formerIdentity, timing }: Candidate,
): LeaseState {
  const { record, at, leading, outdated } = reading;
  const blockedUntil = othersMayLeadUntil(before, reading, timing);
  if (record === undefined) return { is: "absent", record, blockedUntil };
  if (record.holder === undefined)
    return { is: "free", record, blockedUntil, freeSince: freeSince(before, record, at) };
  // A leader keeps its Lease even if a restored backup shows the Lease with an older term.
  if (record.holder === identity && (leading || !outdated)) {
    const { foreignRenewalAt, contested } = foreignRenewal(before, reading, timing);
    return contested
      ? { is: "contested", record, blockedUntil, foreignRenewalAt }
      : { is: "ours", record, foreignRenewalAt };
  }
  if (record.holder === formerIdentity && !outdated) return { is: "inherited", record };
  return { is: "held", record, blockedUntil };
}

/**
 * Until when another process may believe that it leads; undefined (never) if none can. Two processes may, and the later
 * of their ends counts:
 *
 * named:  the holder that the Lease names, for the duration that it wrote, counted from this read.
 * unseen: a holder that the Lease does not show, because the Lease was deleted, recreated (it has another uid) or
 *         restored from a backup. It may have renewed right before that, so it gets a full duration from this read.
 *
 * The first row that applies decides:
 *
 * state before                                 | read: with a holder | without a holder             | no Lease
 * ---------------------------------------------|---------------------|------------------------------|---------
 * none, and no term is known                   | named               | never (1)                    | never
 * none, but the term of an earlier one is known | named, unseen       | never (1); outdated: unseen  | unseen
 * absent                                       | named, as before    | as before                    |
 * ours, and changed in the last half duration  | named               | never                        | never
 * free, and this is the same Lease             | named               | as before (2); older: unseen |
 * any other, and this is the same Lease        | named               | never (1); outdated: unseen  |
 * any other                                    | named, unseen       | unseen                       | unseen
 *
 * (1) Its holder released it. A Lease without a holder that is read for the first time counts as released, too.
 * (2) An edit by hand does not restart the wait. older: its term is lower than before.
 */
function othersMayLeadUntil(
  before: Observation | undefined,
  { record, at, knownTerm, outdated }: ChangedLease,
  timing: LeaseTiming,
): Instant | undefined {
  const named = record?.holder === undefined ? undefined : shifted(at, trustedDuration(record, timing.duration));
  if (before === undefined) {
    const isReleased = record !== undefined && record.holder === undefined && !outdated;
    return knownTerm === undefined || isReleased ? named : laterOf(named, shifted(at, timing.duration));
  }
  const { state, changedAt } = before;
  if (state.is === "absent") return laterOf(named, state.blockedUntil);
  if (state.is === "ours" && elapsed(changedAt, at) < timing.duration / 2) return named;
  if (record?.uid === state.record.uid) {
    if (named) return named;
    if (state.is === "free" && record.term >= state.record.term) return state.blockedUntil;
    if (!outdated) return undefined;
  }
  // Followers read rarely, so it may be the holder that this board saw, or a later one with the usual duration.
  const longest = Math.max(trustedDuration(state.record, timing.duration), timing.duration);
  return laterOf(named, shifted(at, longest));
}

/**
 * How long the holder named in this record may believe that it leads. A missing or absurd duration is replaced with our
 * own.
 */
function trustedDuration({ durationSeconds }: LeaseRecord, own: Millis): Millis {
  if (durationSeconds === undefined || !(durationSeconds > 0)) return own;
  return Math.min(durationSeconds * 1000, maxLeaseDuration);
}

/** Since when the Lease, which was read at this instant, has been free in the same term, for the same successor. */
function freeSince(before: Observation | undefined, { uid, term, successor }: LeaseRecord, at: Instant): Instant {
  const { state } = before ?? {};
  if (state?.is !== "free") return at;
  const { record } = state;
  const isSameRelease = record.uid === uid && record.term === term && record.successor === successor;
  return isSameRelease ? state.freeSince : at;
}

/**
 * Whether another process renews a Lease that names our identity. A Lease with our identity that we read for the first
 * time counts as ours, as in client-go; after that, we recognise our own writes. A leader ignores a single foreign
 * renewal, which may be an edit by hand, but ends its term at the next one within a lease duration.
 */
function foreignRenewal(
  before: Observation | undefined,
  { record, at, leading, isOwnRenewal }: LeaseReading,
  { duration }: LeaseTiming,
): { readonly contested: boolean; readonly foreignRenewalAt: Instant | undefined } {
  const { state } = before ?? {};
  const renewal = record?.renewal;
  const foreignRenewalAt = state?.is === "ours" || state?.is === "contested" ? state.foreignRenewalAt : undefined;
  if (state === undefined || renewal === undefined || renewal === state.record?.renewal) {
    return { contested: state?.is === "contested", foreignRenewalAt };
  }
  if (isOwnRenewal(renewal)) return { contested: false, foreignRenewalAt };
  const again = foreignRenewalAt !== undefined && elapsed(foreignRenewalAt, at) < duration;
  return { contested: !leading || again, foreignRenewalAt: at };
}

/**
 * Whether the Lease is from a backup: other boards have led since it was written, and one of them may still believe
 * that it leads.
 */
export const isOutdated = ({ term }: LeaseRecord, highestTerm: number | undefined): boolean =>
  term < (highestTerm ?? 0);

/** The next step of a candidate. renew: the Lease is already ours. */
export type CandidateStep =
  | { readonly do: "wait"; readonly until: Instant }
  | { readonly do: "create"; readonly term: number }
  | { readonly do: "renew"; readonly record: LeaseRecord }
  | { readonly do: "take"; readonly record: LeaseRecord; readonly term: number };

/** The next step of a candidate, which claims the Lease as soon as no other process can believe that it leads. */
export function nextCandidateStep(
  { state, highestTerm }: Observation,
  { board, headStart = 0 }: Candidate,
  now: Instant,
): CandidateStep {
  const term = highestTerm === undefined ? 0 : termAfter(highestTerm);
  const until = "blockedUntil" in state ? state.blockedUntil : undefined;
  if (until && isAfter(until, now)) return { do: "wait", until };
  switch (state.is) {
    case "absent":
      return { do: "create", term };
    case "free": {
      const { record, freeSince } = state;
      const isForOther = record.successor !== undefined && record.successor !== board;
      const mayTakeFrom = shifted(freeSince, isForOther ? headStart : 0);
      if (isAfter(mayTakeFrom, now)) return { do: "wait", until: mayTakeFrom };
      return { do: "take", record, term };
    }
    case "ours":
      // A backup was restored while this board led, and other boards may have led since the term that the backup shows.
      if (isOutdated(state.record, highestTerm)) return { do: "take", record: state.record, term };
      return { do: "renew", record: state.record };
    case "inherited":
    case "held":
    case "contested":
      return { do: "take", record: state.record, term };
    default:
      return state satisfies never;
  }
}

/** The next step of a leader: it renews its Lease, or ends its term because the Lease is no longer its own. */
export type LeaderStep =
  | { readonly do: "renew"; readonly record: LeaseRecord }
  | { readonly do: "stepDown"; readonly why: string };

/** The next step of a leader: any Lease but its own ends its term. */
export function nextLeaderStep({ state }: Observation): LeaderStep {
  switch (state.is) {
    case "ours":
      return { do: "renew", record: state.record };
    case "absent":
      return { do: "stepDown", why: "the Lease was deleted" };
    case "free":
      return { do: "stepDown", why: "another client removed the holder from the Lease" };
    case "inherited":
    case "held":
      return { do: "stepDown", why: `the Lease passed to ${state.record.holder}` };
    case "contested":
      return { do: "stepDown", why: "another process writes the Lease under this agent's identity" };
    default:
      return state satisfies never;
  }
}

/** The next term. The highest term is reused, because other boards would mistake a wrap to 0 for a restored backup. */
const termAfter = (term: number): number => Math.min(term + 1, maxTerm);
