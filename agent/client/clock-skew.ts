import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** A response that took longer does not show the server's clock precisely enough. */
const maxRoundTrip: Millis = 5_000;

/**
 * How far the server's clock is ahead of this board's, from the Date header of a response (docs/interfaces.md#clocks).
 * The server wrote it at some time between request and response, and truncated it to whole seconds. Undefined if the
 * header is missing or invalid, or the response was slow.
 */
export function skewIn(date: string | undefined, begun: Instant, now: Instant): Millis | undefined {
  const took = elapsed(begun, now);
  const written = Date.parse(date ?? "");
  if (!Number.isFinite(written) || took > maxRoundTrip) return undefined;
  return written + 500 - (now.wall - took / 2);
}
