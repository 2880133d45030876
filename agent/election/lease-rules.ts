import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { type LeaseTiming, longestLease, timingProblems, trust, writtenSeconds } from "../base/lease-timing.ts";

/** leaseTransitions is an int32. Terms never count that far, but somebody may write such a number by hand. */
export const lastTerm = 2 ** 31 - 2;

/** Whether a number, which anybody may have written, is valid as a term. */
export const isTerm = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= lastTerm;

/** The term after the last one is the last one again: starting at 0 would fall below the terms that boards remember. */
const termAfter = (term: number): number => Math.min(term + 1, lastTerm);

/** The Lease as it was read; its values may make no sense. */
export interface LeaseRecord {
  readonly uid: string;
  readonly resourceVersion: string;
  /** "": no holder. */
  readonly holder: string;
  readonly durationSeconds: number | undefined;
  readonly transitions: number;
  /** Mark of its latest renewal; undefined: no readable renewTime. */
  readonly renewal: number | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** The board for which the last holder released it. */
  readonly successor?: string | undefined;
  /** The server records managedFields for it. */
  readonly managed?: true | undefined;
}

/** What this board knows of the Lease. Its timestamps are never read as time: only change counts, on our own clock. */
export interface Observation {
  /** Undefined: there is no Lease. */
  readonly record: LeaseRecord | undefined;
  /** When we first saw it in this state. */
  readonly since: Instant;
  /** Until when another process may believe that it leads. Deleting or recreating the Lease does not end this. */
  readonly heldUntil: Instant | undefined;
  /** The highest term ever seen: the next one is higher, also in a recreated Lease. */
  readonly highestTerm: number | undefined;
  /** Another process renews it under our identity. */
  readonly namesake: boolean;
  /** When we last saw a renewal under our identity that was not ours. */
  readonly intruded: Instant | undefined;
}

/** The observer's situation when it reads the Lease. */
export interface Look {
  /** This board holds a term right now. */
  readonly leading: boolean;
  /** Whether this process sent that renewal. */
  readonly wrote: (renewal: number) => boolean;
}

export interface Candidate {
  readonly identity: string;
  /** The board that stands; undefined: it is never named as a successor. */
  readonly board?: string | undefined;
  readonly timing: LeaseTiming;
  /** How long the others leave a released Lease to its named successor: as long as that board may sleep. */
  readonly headStart?: Millis | undefined;
  /** The identity that led from this board before, if that process is provably gone. */
  readonly formerIdentity?: string | undefined;
  /** The highest term that this board remembers. */
  readonly formerTerm?: number | undefined;
}

export type LeaseStep =
  | { readonly do: "create"; readonly term: number }
  | {
      readonly do: "take";
      readonly record: LeaseRecord;
      readonly term: number;
      readonly why: "free" | "expired" | "ours before";
    }
  | { readonly do: "renew"; readonly record: LeaseRecord; readonly term: number }
  | { readonly do: "wait"; readonly until: Instant }
  | { readonly do: "stepDown"; readonly why: string };

/** All problems of a candidate, as sentences. */
export function candidateProblems({ timing, identity }: Candidate): readonly string[] {
  const problems = timingProblems(timing).map(({ setting, message }) => `leader.${setting}: ${message}`);
  if (identity === "") problems.push("the identity that stands for election must not be empty");
  return problems;
}

/** Trust runs from the beginning of the attempt, not from its answer: nobody can have seen the renewal earlier. */
export const trustedUntil = (attempt: Instant, duration: Millis): Instant =>
  shifted(attempt, trust(writtenSeconds(duration)));

/** How long the holder that wrote this may believe in its term. A missing or absurd duration is replaced by our own. */
function validity({ durationSeconds }: LeaseRecord, own: Millis): Millis {
  if (durationSeconds === undefined || !(durationSeconds > 0)) return own;
  return Math.min(durationSeconds * 1000, longestLease);
}

/** The observation after another read of the Lease. */
export function observe(
  before: Observation | undefined,
  record: LeaseRecord | undefined,
  candidate: Candidate,
  now: Instant,
  look: Look,
): Observation {
  const { identity, timing, formerTerm } = candidate;
  const terms = [before?.highestTerm, record?.transitions, formerTerm].filter((term) => term !== undefined);
  const highestTerm = terms.length === 0 ? undefined : Math.max(...terms);
  const sameObject = before !== undefined && before.record?.uid === record?.uid;
  if (sameObject && before.record?.resourceVersion === record?.resourceVersion) return { ...before, highestTerm };

  const gone = sameObject ? undefined : heldBefore(before, candidate, now);
  const seen = { record, since: now, highestTerm, namesake: false, intruded: undefined };
  if (record === undefined) return { ...seen, heldUntil: gone };
  const own = shifted(now, validity(record, timing.duration));
  const held = gone ? later(own, gone) : own;
  if (record.holder === identity && !isOutdated(record, highestTerm, look)) {
    const others = underOurName(before, record, candidate, now, look);
    return { ...seen, ...others, heldUntil: others.namesake ? held : undefined };
  }
  if (record.holder !== "") return { ...seen, heldUntil: held };
  // Only its holder, by releasing the very Lease that it held, can spare the others the wait.
  // A Lease that we read for the first time, with a term not below the remembered one, counts as that Lease.
  if (before === undefined && record.transitions >= (candidate.formerTerm ?? 0))
    return { ...seen, heldUntil: undefined };
  const released = sameObject && before.record?.holder !== "";
  return { ...seen, heldUntil: sameObject && !released ? before.heldUntil : gone };
}

/**
 * Whether another process renews a Lease that bears our identity. A Lease that we read for the first time is ours from
 * before, as in client-go. Afterwards we know our own writes. A leader lets one foreign renewal pass, which may be a
 * manual edit, and ends its term at the next one. If two namesakes lead, one of them ends first.
 */
function underOurName(
  before: Observation | undefined,
  { renewal }: LeaseRecord,
  { timing }: Candidate,
  now: Instant,
  { leading, wrote }: Look,
): Pick<Observation, "namesake" | "intruded"> {
  const known = { namesake: before?.namesake ?? false, intruded: before?.intruded };
  if (before === undefined || renewal === undefined || renewal === before.record?.renewal) return known;
  if (wrote(renewal)) return { ...known, namesake: false };
  const again = known.intruded !== undefined && elapsed(known.intruded, now) < timing.duration;
  return { namesake: !leading || again, intruded: now };
}

/** Until when another process may believe that it holds a Lease which is gone, or which we never saw. */
function heldBefore(
  before: Observation | undefined,
  { identity, timing, formerTerm }: Candidate,
  now: Instant,
): Instant | undefined {
  if (before === undefined) {
    // A remembered term means that there was a Lease; we may never have seen its last holder.
    return formerTerm === undefined ? undefined : shifted(now, timing.duration);
  }
  const { record, since, heldUntil, namesake } = before;
  if (record === undefined) return heldUntil;
  const justOurs = record.holder === identity && !namesake && elapsed(since, now) < timing.duration / 2;
  // Followers read rarely: right before the deletion the holder may have renewed, or a new one taken over.
  return justOurs ? undefined : shifted(now, Math.max(validity(record, timing.duration), timing.duration));
}

/** The Lease comes from a backup: others led since it was written, and one of them may believe that it still does. */
const isOutdated = (
  { transitions }: LeaseRecord,
  highestTerm: number | undefined,
  { leading }: Pick<Look, "leading">,
): boolean => !leading && transitions < (highestTerm ?? 0);

const later = (a: Instant, b: Instant): Instant => (a.mono >= b.mono ? a : b);

/** The next step for an observed Lease. `leading`: this board holds a term right now. */
export function nextLeaseStep(
  { record, since, heldUntil, highestTerm, namesake }: Observation,
  { identity, board, headStart = 0, formerIdentity }: Candidate,
  leading: boolean,
  now: Instant,
): LeaseStep {
  const term = highestTerm === undefined ? 0 : termAfter(highestTerm);
  const wait = heldUntil && elapsed(now, heldUntil) > 0 ? ({ do: "wait", until: heldUntil } as const) : undefined;
  if (record === undefined) {
    if (leading) return { do: "stepDown", why: "the Lease was deleted" };
    return wait ?? { do: "create", term };
  }
  const { holder } = record;
  const outdated = isOutdated(record, highestTerm, { leading });
  if (holder === identity && !namesake && !outdated) return { do: "renew", record, term: record.transitions };
  if (leading) {
    if (namesake) return { do: "stepDown", why: "another process writes the Lease under our name" };
    return { do: "stepDown", why: holder === "" ? "the Lease was released for us" : `the Lease went to ${holder}` };
  }
  if (holder !== "" && holder === formerIdentity && !outdated) return { do: "take", record, term, why: "ours before" };
  if (wait) return wait;
  if (holder !== "") return { do: "take", record, term, why: "expired" };
  const { successor } = record;
  const others = shifted(since, successor === undefined || successor === board ? 0 : headStart);
  return elapsed(now, others) > 0 ? { do: "wait", until: others } : { do: "take", record, term, why: "free" };
}
