import type { Clock, Millis } from "../base/clock.ts";
import { IdleTimer } from "../client/idle-timer.ts";

/** An exchange that may last for hours but, once begun, must not stay silent for longer than a limit. */
export interface StallGuard {
  /** Aborts with the parent, or with a `StalledError` after too long a silence. */
  readonly signal: AbortSignal;
  /** The exchange has begun, or data arrived. */
  heard(): void;
  /** Ends the exchange for a reason of our own. */
  abort(reason: unknown): void;
  dispose(): void;
}

/** A connection lost by the other side looks alive as long as nothing is written to it (half-open TCP). */
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
    controller.abort(new StalledError(`${what}: nothing came for ${Math.round(limit / 1000)} s`)),
  );
  return {
    signal: controller.signal,
    heard: () => {
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
