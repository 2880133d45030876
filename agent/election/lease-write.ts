import { type Clock, deadline, type Millis } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import { formatDuration } from "../base/time/duration.ts";

/** As far as this board knows, the change was not written to the Lease. */
export class LeaseNotWrittenError extends Error implements HasDisposition {
  override readonly name = "LeaseNotWrittenError";
  readonly disposition = "retry";
}

/** Resolves once `publish` does; rejects if that takes longer than `patience`, or the signal aborts first. */
export async function writtenWithin(
  clock: Clock,
  patience: Millis,
  publish: () => Promise<void>,
  signal = new AbortController().signal,
): Promise<void> {
  const late = (): Error => new LeaseNotWrittenError(`the Lease was not written within ${formatDuration(patience)}`);
  const bound = deadline(clock, patience, signal, late);
  const timeout = new Promise<never>((_, reject) => {
    bound.signal.addEventListener("abort", () => reject(bound.signal.reason), { once: true });
  });
  try {
    await Promise.race([publish(), timeout]);
  } finally {
    bound.dispose();
  }
}
