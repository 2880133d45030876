import type { Clock, Millis, Timer } from "../../base/clock.ts";
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

export interface StallGuardOptions {
  /** A stream that is silent for this long is ended. */
  readonly limit: Millis;
  readonly parent: AbortSignal;
  /** The stream, for messages. */
  readonly what: string;
  /**
   * Asks whether a stream that has delivered nothing since it was opened may be silent. If so, the limit starts again,
   * once.
   */
  readonly ask: (signal: AbortSignal) => Promise<boolean>;
}

/** A stream was silent for too long. Its connection may be half-open, which goes unnoticed while nothing is written. */
export class StalledError extends Error {
  override readonly name = "StalledError";
  readonly disposition = "retry";
}

/**
 * The part of the limit after which `ask` is called. With the default limit of 90 s that is 75 s, so that a regular
 * bookmark, which arrives within 65 s, spares the request, and the answer has 15 s.
 */
const askAfter = 5 / 6;

export function guardAgainstStall(clock: Clock, { limit, parent, what, ask }: StallGuardOptions): StallGuard {
  const controller = new AbortController();
  const asking = new AbortController();
  const follow = (): void => controller.abort(parent.reason);
  if (parent.aborted) follow();
  else parent.addEventListener("abort", follow, { once: true });
  const timer = new IdleTimer(clock, limit, () =>
    controller.abort(new StalledError(`${what}: received nothing for ${Math.round(limit / 1000)} s`)),
  );
  const question = async (): Promise<void> => {
    const signal = AbortSignal.any([controller.signal, asking.signal]);
    try {
      if (await ask(signal)) timer.touch();
    } catch {
      // Without an answer the stream is ended at the limit.
    }
  };
  let asked: Timer | undefined;
  return {
    signal: controller.signal,
    touch: () => {
      if (asked === undefined) asked = clock.after(limit * askAfter, () => void question());
      else asked.cancel();
      timer.start();
      timer.touch();
    },
    abort: (reason) => controller.abort(reason),
    dispose: () => {
      timer.stop();
      asked?.cancel();
      asking.abort();
      parent.removeEventListener("abort", follow);
    },
  };
}
