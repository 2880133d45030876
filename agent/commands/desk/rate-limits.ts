import type { Instant, Millis } from "../../base/clock.ts";
import { elapsed } from "../../base/clock.ts";
import { fullBucket, nextToken, type Rate, type TokenBucket, take } from "../../base/token-bucket.ts";

/** The limits are those of row 10 of docs/interfaces.md#order-of-checks. */
const issuerLimit: Rate = { perSecond: 1, burst: 10 };
const mutatingLimit: Rate = { perSecond: 0.1, burst: 5 };
const boardLimit: Rate = { perSecond: 1, burst: 60 };
const answerLimit: Rate = { perSecond: 1, burst: 1 };
/** Commands that cannot be read have no known issuer; their refusals share this limit, so that answers stay bounded. */
const refusalLimit: Rate = { perSecond: 1, burst: 30 };
/**
 * 100 signature checks a second take at most 4 % of a small board's CPU; the burst covers the 1000 or so messages that
 * a broker queues for one client.
 */
const checkLimit: Rate = { perSecond: 100, burst: 1000 };

interface Issuer {
  readonly all: TokenBucket;
  readonly mutating: TokenBucket;
}

/**
 * Maximum number of issuers remembered, because a sender can invent any number of names. A forgotten issuer starts with
 * full buckets, but the board's limit still applies.
 */
const maxIssuers = 64;

/**
 * The state of the limits of one kind of commands: signed changes, or all others, whose limits any client of the broker
 * may use up.
 */
export interface RateState {
  /** The bucket for all commands to the board. */
  readonly board: TokenBucket;
  /** The bucket for answers that say "rate-limited". */
  readonly answers: TokenBucket;
  /** The bucket for refusals of commands that could not be read. */
  readonly refusals: TokenBucket;
  /** The issuers by name; the one whose last command is the oldest comes first. */
  readonly issuers: ReadonlyMap<string, Issuer>;
}

const freshRates = (now: Instant): RateState => ({
  board: fullBucket(now, boardLimit.burst),
  answers: fullBucket(now, answerLimit.burst),
  refusals: fullBucket(now, refusalLimit.burst),
  issuers: new Map(),
});

export type RateDecision =
  | { readonly is: "granted" }
  /** `isAnswered`: whether the refusal is published; false if another one was published within the last second. */
  | { readonly is: "limited"; readonly retryAfter: Millis; readonly isAnswered: boolean };

/** Whether the refusal of a command that could not be read may be published; takes a token if so. */
export function mayRefuse(state: RateState, now: Instant): readonly [boolean, RateState] {
  const [granted, refusals] = take(state.refusals, refusalLimit, now);
  return [granted, { ...state, refusals }];
}

/** All limits of the desk. One kind of sender cannot use up the limits of the other. */
export interface DeskRates {
  /** Changes with a valid signature, by fingerprint of the key. */
  readonly signed: RateState;
  /** All other commands, by the author that they claim. */
  readonly unsigned: RateState;
  /**
   * The bucket for signature checks that led to nothing, because the signature was forged or the command was a
   * recording.
   */
  readonly checks: TokenBucket;
  /** The bucket for answers to copies of known commands. */
  readonly copies: TokenBucket;
}

export const freshDeskRates = (now: Instant): DeskRates => ({
  signed: freshRates(now),
  unsigned: freshRates(now),
  checks: fullBucket(now, checkLimit.burst),
  copies: fullBucket(now, refusalLimit.burst),
});

/** Whether another signature may be checked. Takes no token, because only checks in vain are counted. */
export function mayCheck(rates: DeskRates, now: Instant): readonly [RateDecision, DeskRates] {
  const next = nextToken(rates.checks, checkLimit, now);
  const retryAfter = next ? Math.ceil(elapsed(now, next)) : 0;
  if (retryAfter === 0) return [{ is: "granted" }, rates];
  const [isAnswered, answers] = take(rates.unsigned.answers, answerLimit, now);
  return [
    { is: "limited", retryAfter, isAnswered },
    { ...rates, unsigned: { ...rates.unsigned, answers } },
  ];
}

/** Counts a signature check that led to nothing. */
export const recordWastedCheck = (rates: DeskRates, now: Instant): DeskRates => ({
  ...rates,
  checks: take(rates.checks, checkLimit, now)[1],
});

/** Whether a copy of a known command may be answered; takes a token if so. */
export function mayRepeat(rates: DeskRates, now: Instant): readonly [boolean, DeskRates] {
  const [granted, copies] = take(rates.copies, refusalLimit, now);
  return [granted, { ...rates, copies }];
}

/** Admits one command. Takes tokens only if every bucket grants one. */
export function admit(
  state: RateState,
  request: { readonly issuer: string; readonly isMutating: boolean },
  now: Instant,
): readonly [RateDecision, RateState] {
  const { all, mutating } = state.issuers.get(request.issuer) ?? {
    all: fullBucket(now, issuerLimit.burst),
    mutating: fullBucket(now, mutatingLimit.burst),
  };
  const buckets = [
    { bucket: state.board, limit: boardLimit },
    { bucket: all, limit: issuerLimit },
    ...(request.isMutating ? [{ bucket: mutating, limit: mutatingLimit }] : []),
  ].map(({ bucket, limit }) => ({ bucket, limit, taken: take(bucket, limit, now) }));

  if (buckets.every(({ taken: [granted] }) => granted)) {
    const [board, ofAll, ofMutating] = buckets.map(({ taken: [, rest] }) => rest);
    const issuer = { all: ofAll ?? all, mutating: ofMutating ?? mutating };
    return [
      { is: "granted" },
      { ...state, board: board ?? state.board, issuers: remembered(state, request.issuer, issuer) },
    ];
  }
  const waits = buckets.map(({ bucket, limit }) => {
    const next = nextToken(bucket, limit, now);
    return next ? elapsed(now, next) : 0;
  });
  const [isAnswered, answers] = take(state.answers, answerLimit, now);
  return [
    { is: "limited", retryAfter: Math.ceil(Math.max(...waits)), isAnswered },
    { ...state, answers },
  ];
}

function remembered({ issuers }: RateState, name: string, issuer: Issuer): ReadonlyMap<string, Issuer> {
  const next = new Map(issuers);
  next.delete(name);
  next.set(name, issuer);
  const [oldest] = next.keys();
  if (next.size > maxIssuers && oldest !== undefined) next.delete(oldest);
  return next;
}
