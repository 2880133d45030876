import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { hintOf, sentenceOf } from "../base/errors.ts";
import type { LeaseTiming } from "../base/lease-timing.ts";
import { isOfLink } from "../client/api-error.ts";
import type { Candidacy } from "./candidacy.ts";
import type { LeaseObserver } from "./lease-observer.ts";
import type { ElectionFailure, TermRun } from "./term-run.ts";

/** The election as seen by this board, for the status and the operators' commands. */
export interface ElectorView {
  readonly role: "leader" | "follower";
  readonly identity: string;
  /** The holder that the Lease names; undefined if it names none or is not known. */
  readonly holder: string | undefined;
  /** Whether the Lease exists but names no holder. */
  readonly isFree: boolean;
  /** The number of the Lease's term; undefined if there is no Lease, or it has not been read yet. */
  readonly term: number | undefined;
  /** When this board first saw the current holder. */
  readonly since: Instant | undefined;
  /** The holder before the current one, if this process saw the Lease change hands. */
  readonly formerHolder: string | undefined;
  /** Time since this board last saw the Lease change. */
  readonly leaseAge: Millis | undefined;
  readonly leaseDuration: Millis;
  /** True if another process renews the Lease under our identity. */
  readonly namesake: boolean;
  /** 95th percentile of the time that a renewal takes; undefined if there was none. */
  readonly renewP95: Millis | undefined;
  /** Failed renewals in the current term, or in this process's last one. */
  readonly missedRenewals: number;
  /** Why this board does not stand for election; undefined if it stands. */
  readonly notStanding: string | undefined;
  /** When the rest that an operator ordered ends if the Lease stays as it is; undefined if there is none. */
  readonly orderedUntil: Instant | undefined;
  /** Whether, at the last answer, no board held the Lease, or its holder had not renewed it in time. */
  readonly isLeaderless: boolean;
  /**
   * Why this board does not lead although it stands for election and its claims are written to the Lease; undefined if
   * that is not the case.
   */
  readonly fruitless: string | undefined;
  /**
   * The failure of the last attempt to acquire or renew the Lease; undefined if it succeeded, or another board was
   * faster.
   */
  readonly lastError: ElectionError | undefined;
  /** How the last term of this process ended; undefined if this process leads, or has never led. */
  readonly ended: { readonly at: Instant; readonly why: string } | undefined;
}

interface ElectionError {
  readonly message: string;
  readonly hint: string | undefined;
  readonly at: Instant;
  /** Whether no answer arrived. The status shows this as a problem of the link, not of the election. */
  readonly isOfLink: boolean;
}

/** The parts of a LeaderElector that its view is read from. */
interface ElectorParts {
  readonly identity: string;
  readonly timing: LeaseTiming;
  readonly observer: LeaseObserver;
  readonly candidacy: Candidacy;
  /** The current term of this process, or its last one; undefined if it has never led. */
  readonly termRun: TermRun | undefined;
  /** The failure of the last attempt to acquire the Lease. */
  readonly failure: ElectionFailure | undefined;
}

export function electorView(parts: ElectorParts, now: Instant): ElectorView {
  const { identity, timing, observer, candidacy, termRun } = parts;
  const { seen, holderSince, lastHolder } = observer;
  const record = seen?.state.record;
  const leads = termRun?.term.standsAt(now) ?? false;
  const renewals = termRun?.stats();
  const failure = leads ? renewals?.failure : parts.failure;
  const notStanding = leads ? undefined : candidacy.reason(now);
  const fruitless = leads || notStanding !== undefined ? undefined : candidacy.fruitless;
  const over = leads ? undefined : termRun?.term.over;
  return {
    role: leads ? "leader" : "follower",
    identity,
    holder: record?.holder,
    isFree: record !== undefined && record.holder === undefined,
    term: record?.term,
    since: holderSince,
    formerHolder: lastHolder === record?.holder ? undefined : lastHolder,
    leaseAge: seen && elapsed(seen.changedAt, now),
    leaseDuration: record?.durationSeconds ? record.durationSeconds * 1000 : timing.duration,
    namesake: seen?.state.is === "contested",
    renewP95: renewals?.renewP95,
    missedRenewals: renewals?.missed ?? 0,
    notStanding,
    orderedUntil: leads ? undefined : candidacy.orderedUntil(now),
    isLeaderless: !leads && candidacy.isLeaderless,
    fruitless,
    lastError: failure && {
      message: sentenceOf(failure.error),
      hint: hintOf(failure.error),
      at: failure.at,
      isOfLink: isOfLink(failure.error),
    },
    ended: over && { at: over.at, why: over.ending.why },
  };
}
