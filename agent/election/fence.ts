import type { Clock } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import type { Term } from "../loop/controller.ts";

/** A write that was not sent because its term is over, or because its decision is too old. */
export class FencedError extends Error implements HasDisposition {
  override readonly name = "FencedError";
  readonly disposition = "drop";
}

/** Throws once the term no longer stands. Called before a write is prepared and again right before its first byte. */
export const fence = (clock: Clock, term: Term) => (): void => {
  if (!term.standsAt(clock.now())) throw new FencedError(`term ${term.number} is over`);
};
