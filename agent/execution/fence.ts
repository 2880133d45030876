import type { Clock, Instant } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";

/** A term of leadership. */
export interface Term {
  readonly number: number;
  /** Aborts when the term ends, before another board may lead. */
  readonly signal: AbortSignal;
  /** False once another board may lead, even if timers or the network are late; checked before each write. */
  standsAt(now: Instant): boolean;
}

/** A write was not sent because its term has ended, or because its decision is too old. */
export class FencedError extends Error implements HasDisposition {
  override readonly name = "FencedError";
  readonly disposition = "drop";
}

/** Throws if the term has ended. Called before a write is prepared, and again right before its first byte is sent. */
export const fence = (clock: Clock, term: Term) => (): void => {
  if (!term.standsAt(clock.now())) throw new FencedError(`term ${term.number} has ended`);
};
