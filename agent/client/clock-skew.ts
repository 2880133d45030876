import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** An answer that took longer says too little about when it was written. */
const quick: Millis = 5_000;

/**
 * How far the server's clock is ahead of ours, by the Date header of an answer (docs/interfaces.md#clocks): it was
 * written somewhere between our question and the answer, in whole seconds that are cut off. `undefined`: the answer
 * does not tell.
 */
export function skewIn(date: string | undefined, begun: Instant, now: Instant): Millis | undefined {
  const took = elapsed(begun, now);
  const written = Date.parse(date ?? "");
  if (!Number.isFinite(written) || took > quick) return undefined;
  return written + 500 - (now.wall - took / 2);
}
