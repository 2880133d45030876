import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** A slower answer is too imprecise. */
const quick: Millis = 5_000;

/**
 * How far the server's clock is ahead of ours, by an answer's Date header (docs/interfaces.md#clocks): it was written
 * at some time between request and answer, and truncated to whole seconds. Undefined if the answer does not show it.
 */
export function skewIn(date: string | undefined, begun: Instant, now: Instant): Millis | undefined {
  const took = elapsed(begun, now);
  const written = Date.parse(date ?? "");
  if (!Number.isFinite(written) || took > quick) return undefined;
  return written + 500 - (now.wall - took / 2);
}
