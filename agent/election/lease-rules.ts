import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { type LeaseTiming, longestLease, timingProblems, trust, writtenSeconds } from "../base/lease-timing.ts";

/** leaseTransitions is an int32. Terms do not get that far by themselves, but a hand can write such a number. */
export const lastTerm = 2 ** 31 - 2;

/** Whether a number that anybody may have written can be that of a term. */
export const isTerm = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= lastTerm;

/** Behind the last term comes the last term: a count that began at 0 again would lie below what boards remember for ever. */
const termAfter = (term: number): number => Math.min(term + 1, lastTerm);

/** The Lease as it was read: nothing of it is trusted to make sense. */
export interface LeaseRecord {
  readonly uid: string;
  readonly resourceVersion: string;
  /** "": nobody. */
  readonly holder: string;
  readonly durationSeconds: number | undefined;
  readonly transitions: number;
  /** By which write it was renewed last; undefined: nobody can tell. */
  readonly renewal: number | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  /** Its last holder gave it back for this board to have. */
  readonly successor?: string | undefined;
  /** The server notes who manages which of its fields. */
  readonly managed?: true | undefined;
}

/** What we know of the Lease by looking at it. Its timestamps are never read: only change counts, on our own clock. */
export interface Observation {
  /** Undefined: there is no Lease. */
  readonly record: LeaseRecord | undefined;
  /** When we first saw it in this state. */
  readonly since: Instant;
  /** Until when somebody else may believe to lead. A Lease that is deleted, or deleted and made anew, does not end it. */
  readonly heldUntil: Instant | undefined;
  /** The highest term ever seen: the next one is higher, also in a Lease made anew. */
  readonly highestTerm: number | undefined;
  /** Somebody else renews it under our name. */
  readonly namesake: boolean;
  /** When we last saw a renewal under our name that was not ours. */
  readonly intruded: Instant | undefined;
}

/** How a look at the Lease came about. */
export interface Look {
  /** We hold a term right now. */
  readonly leading: boolean;
  /** Whether we sent that renewal ourselves. */
  readonly wrote: (renewal: number) => boolean;
}

export interface Candidate {
  readonly identity: string;
  /** The board that stands; undefined: it is never named as a successor. */
  readonly board?: string | undefined;
  readonly timing: LeaseTiming;
  /** How long a Lease that was given back in favour of another board is left to it: as long as that may sleep. */
  readonly headStart?: Millis | undefined;
  /** Who led from this board before, where that process is provably gone. */
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

/** Everything that is wrong with a candidate, in sentences. */
export function candidateProblems({ timing, identity }: Candidate): readonly string[] {
  const problems = timingProblems(timing).map(({ setting, message }) => `leader.${setting}: ${message}`);
  if (identity === "") problems.push("the identity that stands for election must not be empty");
  return problems;
}

/** Not from the answer on, but from the beginning of the attempt: nobody can have seen the renewal before. */
export const trustedUntil = (attempt: Instant, duration: Millis): Instant =>
  shifted(attempt, trust(writtenSeconds(duration)));

/** How long a holder that wrote this may believe in its term. What makes no sense is replaced by our own duration. */
function validity({ durationSeconds }: LeaseRecord, own: Millis): Millis {
  if (durationSeconds === undefined || !(durationSeconds > 0)) return own;
  return Math.min(durationSeconds * 1000, longestLease);
}

/** What is known after looking at the Lease again. */
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
  // Only its holder, in the Lease that it held, can say that nobody needs to wait for it any more.
  // One that we meet for the first time and that counts on from the terms that we remember is that Lease.
  if (before === undefined && record.transitions >= (candidate.formerTerm ?? 0))
    return { ...seen, heldUntil: undefined };
  const released = sameObject && before.record?.holder !== "";
  return { ...seen, heldUntil: sameObject && !released ? before.heldUntil : gone };
}

/**
 * Whether a Lease that bears our name is renewed by another process of that name. One that we meet for the first time is
 * ours from before, as in client-go. Afterwards we know what we wrote; who leads lets one strange renewal pass, which may
 * be a slip of somebody's hand, and ends its term at the next one. Of two namesakes that lead, one does so first.
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

/** Until when somebody may believe to hold a Lease that is not there any more, or that we never saw. */
function heldBefore(
  before: Observation | undefined,
  { identity, timing, formerTerm }: Candidate,
  now: Instant,
): Instant | undefined {
  if (before === undefined) {
    // Where a term is remembered there was a Lease; its last holder may be somebody we have not met.
    return formerTerm === undefined ? undefined : shifted(now, timing.duration);
  }
  const { record, since, heldUntil, namesake } = before;
  if (record === undefined) return heldUntil;
  const justOurs = record.holder === identity && !namesake && elapsed(since, now) < timing.duration / 2;
  // Who follows looks rarely: the holder may have renewed, or another one come, right before the Lease was deleted.
  return justOurs ? undefined : shifted(now, Math.max(validity(record, timing.duration), timing.duration));
}

/** It comes from a backup: others led since it was written, and one of them may believe that it still does. */
const isOutdated = (
  { transitions }: LeaseRecord,
  highestTerm: number | undefined,
  { leading }: Pick<Look, "leading">,
): boolean => !leading && transitions < (highestTerm ?? 0);

const later = (a: Instant, b: Instant): Instant => (a.mono >= b.mono ? a : b);

/** What to do about the Lease, as it was observed. `leading`: we hold a term right now. */
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
