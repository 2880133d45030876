import type { Clock, Millis } from "../../base/clock.ts";
import { IdleTimer } from "../../client/transport/idle-timer.ts";

/** Ends a stream that was silent for too long. The time runs from the first `touch`. */
export interface StallGuard {
  /** Aborts with the parent signal, with a `StalledError`, or by `abort`. */
  readonly signal: AbortSignal;
  /** Called when the stream was opened, or data arrived. */
  touch(): void;
  /** Ends the stream for another reason. */
  abort(reason: unknown): void;
  dispose(): void;
}

/** A stream was silent for too long. Its connection may be half-open, which goes unnoticed while nothing is written. */
export class StalledError extends Error {
  override readonly name = "StalledError";
  readonly disposition = "retry";
}

export function guardAgainstStall(clock: Clock, limit: Millis, parent: AbortSignal, what: string): StallGuard {
  const controller = new AbortController();
  const follow = (): void => controller.abort(parent.reason);
  if (parent.aborted) follow();
  else parent.addEventListener("abort", follow, { once: true });
  const timer = new IdleTimer(clock, limit, () =>
    controller.abort(new StalledError(`${what}: received nothing for ${Math.round(limit / 1000)} s`)),
  );
  return {
    signal: controller.signal,
    touch: () => {
      timer.start();
      timer.touch();
    },
    abort: (reason) => controller.abort(reason),
    dispose: () => {
      timer.stop();
      parent.removeEventListener("abort", follow);
    },
  };
}
