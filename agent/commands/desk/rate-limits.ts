import type { Instant, Millis } from "../../base/clock.ts";
import { elapsed } from "../../base/clock.ts";
import { fullBucket, nextToken, type TokenBucket, take } from "../../base/token-bucket.ts";

interface Limit {
  readonly perSecond: number;
  readonly burst: number;
}

/** docs/interfaces.md#order-of-checks, row 10. */
const issuerLimit: Limit = { perSecond: 1, burst: 10 };
const mutatingLimit: Limit = { perSecond: 0.1, burst: 5 };
const boardLimit: Limit = { perSecond: 1, burst: 60 };
const answerLimit: Limit = { perSecond: 1, burst: 1 };
/**
 * Malformed commands have no known issuer; their refusals share one limit so that senders cannot cause endless answers.
 */
const refusalLimit: Limit = { perSecond: 1, burst: 30 };

interface Issuer {
  readonly all: TokenBucket;
  readonly mutating: TokenBucket;
}

/**
 * Bound on remembered issuers, as names are free to invent; a forgotten issuer starts with full allowances, but the
 * board's limit applies to all.
 */
const mostIssuers = 64;

export interface RateState {
  readonly board: TokenBucket;
  readonly answers: TokenBucket;
  readonly refusals: TokenBucket;
  /** Least recent issuer first. */
  readonly issuers: ReadonlyMap<string, Issuer>;
}

export const freshRates = (now: Instant): RateState => ({
  board: fullBucket(now, boardLimit.burst),
  answers: fullBucket(now, answerLimit.burst),
  refusals: fullBucket(now, refusalLimit.burst),
  issuers: new Map(),
});

export type Admission =
  | { readonly is: "granted" }
  /** `isAnswered`: this refusal may be published; further ones within a second are dropped. */
  | { readonly is: "limited"; readonly retryAfter: Millis; readonly isAnswered: boolean };

/** Whether a command refused before it could be read may be answered. */
export function mayRefuse(state: RateState, now: Instant): readonly [boolean, RateState] {
  const [granted, refusals] = take(state.refusals, refusalLimit.perSecond, now, refusalLimit.burst);
  return [granted, { ...state, refusals }];
}

/** Admits one command. Takes tokens only if every bucket grants one. */
export function admit(
  state: RateState,
  asked: { readonly issuer: string; readonly isMutating: boolean },
  now: Instant,
): readonly [Admission, RateState] {
  const { all, mutating } = state.issuers.get(asked.issuer) ?? {
    all: fullBucket(now, issuerLimit.burst),
    mutating: fullBucket(now, mutatingLimit.burst),
  };
  const wanted = [
    { bucket: state.board, limit: boardLimit },
    { bucket: all, limit: issuerLimit },
    ...(asked.isMutating ? [{ bucket: mutating, limit: mutatingLimit }] : []),
  ].map(({ bucket, limit }) => ({ bucket, limit, taken: take(bucket, limit.perSecond, now, limit.burst) }));

  if (wanted.every(({ taken: [granted] }) => granted)) {
    const [board, ofAll, ofMutating] = wanted.map(({ taken: [, rest] }) => rest);
    const issuer = { all: ofAll ?? all, mutating: ofMutating ?? mutating };
    return [
      { is: "granted" },
      { ...state, board: board ?? state.board, issuers: remembered(state, asked.issuer, issuer) },
    ];
  }
  const waits = wanted.map(({ bucket, limit }) => {
    const next = nextToken(bucket, limit.perSecond, now, limit.burst);
    return next ? elapsed(now, next) : 0;
  });
  const [isAnswered, answers] = take(state.answers, answerLimit.perSecond, now, answerLimit.burst);
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
  if (next.size > mostIssuers && oldest !== undefined) next.delete(oldest);
  return next;
}
