import { elapsed, type Instant, isAfter, laterOf, type Millis, shifted } from "../base/clock.ts";
import { type LeaseTiming, maxLeaseDuration } from "../base/lease-timing.ts";
import { type LeaseRecord, maxTerm } from "./lease-record.ts";

/*
 * The rules of the Lease, as pure functions: `observe` interprets a Lease that was read, and `nextCandidateStep` and
 * `nextLeaderStep` decide what to do.
 *
 * Times in a Lease are never used as times, because another board's clock wrote them. This board measures on its own
 * clock how long the Lease has not changed: a holder that does not renew it for the duration that it wrote has lost it.
 * Each claim writes a higher term than any that the board has seen, even into a Lease that was deleted and recreated.
 */

/**
 * The meaning of the Lease for this board, and what follows from it:
 *
 * state     | the Lease                             | `blockedUntil` is from     | then a candidate        | a leader
 * ----------|---------------------------------------|----------------------------|-------------------------|-----------
 * absent    | does not exist                        | `formerHolderMayLeadUntil` | creates it              | steps down
 * free      | names no holder                       | `freeLeaseBlockedUntil`    | takes it (*)            | steps down
 * ours      | names this process                    | never blocked              | renews it; takes it (+) | renews it
 * inherited | names our last process, which is gone | never blocked              | takes it                | steps down
 * held      | names another process, or is outdated | `holderMayLeadUntil`       | takes it                | steps down
 * contested | ours, but another process renews it   | `holderMayLeadUntil`       | takes it                | steps down
 *
 * (*) if it names a successor, after that board's head start, which counts from `freeSince`: when this board first saw
 * the Lease free in this term, for this successor. (+) if it is outdated, which means that it is from a backup: it
 * shows a term after which other boards have led.
 *
 * `blockedUntil`: before this instant, another process may believe that it leads, so this board must not lead; deleting
 * or recreating the Lease does not shorten that. Undefined if no other process can believe so. `foreignRenewalAt`: when
 * another process last renewed the Lease under our identity; undefined if never.
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
  | { readonly is: "held"; readonly record: LeaseRecord; readonly blockedUntil: Instant }
  | {
      readonly is: "contested";
      readonly record: LeaseRecord;
      readonly blockedUntil: Instant;
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

/** A reading of a Lease that exists. */
type FoundLease = LeaseReading & { readonly record: LeaseRecord };

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
  return { state: stateOf(before, reading, candidate, highestTerm), changedAt: at, highestTerm };
}

/** The state of a Lease that has changed since the last read. */
function stateOf(
  before: Observation | undefined,
  reading: LeaseReading,
  candidate: Candidate,
  highestTerm: number | undefined,
): LeaseState {
  const { record, at, leading } = reading;
  const { identity, formerIdentity, timing } = candidate;
  if (record === undefined)
    return { is: "absent", record, blockedUntil: formerHolderMayLeadUntil(before, reading, timing) };
  const outdated = isOutdated(record, highestTerm);
  if (record.holder === undefined) {
    const blockedUntil = freeLeaseBlockedUntil(before, { ...reading, record, outdated }, timing);
    return { is: "free", record, blockedUntil, freeSince: freeSince(before, record) ?? at };
  }

  const blockedUntil = holderMayLeadUntil(before, { ...reading, record }, timing);
  // A leader keeps its Lease even if a restored backup shows the Lease with an older term.
  if (record.holder === identity && (leading || !outdated)) {
    const { foreignRenewalAt, contested } = foreignRenewal(before, { ...reading, record }, timing);
    return contested
      ? { is: "contested", record, blockedUntil, foreignRenewalAt }
      : { is: "ours", record, foreignRenewalAt };
  }
  if (record.holder === formerIdentity && !outdated) return { is: "inherited", record };
  return { is: "held", record, blockedUntil };
}

/** How long the holder of this Lease, or of one that it replaced, may still believe that it leads. */
function holderMayLeadUntil(before: Observation | undefined, reading: FoundLease, timing: LeaseTiming): Instant {
  const { record, at } = reading;
  const own = shifted(at, trustedDuration(record, timing.duration));
  const former = isSameLease(before, record) ? undefined : formerHolderMayLeadUntil(before, reading, timing);
  return laterOf(own, former);
}

/**
 * The instant before which no board may claim a Lease without a holder; undefined if it may be claimed now, because its
 * holder released it. A Lease read for the first time counts as released. A recreated one does not, and neither does an
 * outdated one, which later holders did not release.
 */
function freeLeaseBlockedUntil(
  before: Observation | undefined,
  reading: FoundLease & { readonly outdated: boolean },
  timing: LeaseTiming,
): Instant | undefined {
  const { record, outdated } = reading;
  if (before !== undefined && !isSameLease(before, record)) return formerHolderMayLeadUntil(before, reading, timing);
  const { state } = before ?? {};
  // The Lease is still free, and not an older version of itself, so this may be an edit by hand, which does not restart
  // the wait.
  if (state?.is === "free" && record.term >= state.record.term) return state.blockedUntil;
  return outdated ? formerHolderMayLeadUntil(before, reading, timing) : undefined;
}

/** Since when the Lease has been free in the same term, for the same successor; undefined if it was not. */
function freeSince(before: Observation | undefined, record: LeaseRecord): Instant | undefined {
  const { state } = before ?? {};
  if (state?.is !== "free" || !isSameLease(before, record)) return undefined;
  const { term, successor } = state.record;
  return term === record.term && successor === record.successor ? state.freeSince : undefined;
}

/** How long the holder of a Lease that was deleted, or that we never saw, may still believe that it leads. */
function formerHolderMayLeadUntil(
  before: Observation | undefined,
  { at, knownTerm }: LeaseReading,
  timing: LeaseTiming,
): Instant | undefined {
  if (before === undefined) {
    // A known term shows that a Lease existed, whose last holder we may never have seen.
    return knownTerm === undefined ? undefined : shifted(at, timing.duration);
  }
  const { state, changedAt } = before;
  if (state.is === "absent") return state.blockedUntil;
  if (state.is === "ours" && elapsed(changedAt, at) < timing.duration / 2) return undefined;
  // Followers read rarely, so the holder may have renewed the Lease, or a new holder may have acquired it, right before
  // the deletion.
  return shifted(at, Math.max(trustedDuration(state.record, timing.duration), timing.duration));
}

/**
 * How long the holder named in this record may believe that it leads. A missing or absurd duration is replaced with our
 * own.
 */
function trustedDuration({ durationSeconds }: LeaseRecord, own: Millis): Millis {
  if (durationSeconds === undefined || !(durationSeconds > 0)) return own;
  return Math.min(durationSeconds * 1000, maxLeaseDuration);
}

/**
 * Whether another process renews a Lease that names our identity. A Lease with our identity that we read for the first
 * time counts as ours, as in client-go; after that, we recognise our own writes. A leader ignores a single foreign
 * renewal, which may be an edit by hand, but ends its term at the next one within a lease duration.
 */
function foreignRenewal(
  before: Observation | undefined,
  { record: { renewal }, at, leading, isOwnRenewal }: FoundLease,
  { duration }: LeaseTiming,
): { readonly contested: boolean; readonly foreignRenewalAt: Instant | undefined } {
  const { state } = before ?? {};
  const foreignRenewalAt = state?.is === "ours" || state?.is === "contested" ? state.foreignRenewalAt : undefined;
  if (state === undefined || renewal === undefined || renewal === state.record?.renewal) {
    return { contested: state?.is === "contested", foreignRenewalAt };
  }
  if (isOwnRenewal(renewal)) return { contested: false, foreignRenewalAt };
  const again = foreignRenewalAt !== undefined && elapsed(foreignRenewalAt, at) < duration;
  return { contested: !leading || again, foreignRenewalAt: at };
}

const isSameLease = (before: Observation | undefined, record: LeaseRecord): boolean =>
  before?.state.record?.uid === record.uid;

/**
 * Whether the Lease is from a backup: other boards have led since it was written, and one of them may still believe
 * that it leads.
 */
const isOutdated = ({ term }: LeaseRecord, highestTerm: number | undefined): boolean => term < (highestTerm ?? 0);

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
