import type { Instant } from "../base/clock.ts";
import { elapsed } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";
import type { JsonRecord } from "../base/json.ts";
import type { Effect } from "./controls.ts";
import type { Refusal } from "./refusal.ts";
import type { Answer, Request } from "./request.ts";

export type Outcome =
  | {
      readonly state: "accepted" | "running" | "succeeded" | "cancelled";
      readonly code: number;
      readonly result?: JsonRecord;
    }
  | (Omit<Refusal, "state"> & { readonly state: "rejected" | "expired" | "failed" });

export interface About {
  readonly id: string;
  readonly name: string;
  readonly scope: Request["scope"];
  readonly board: string;
  readonly term: number | undefined;
  readonly clock: "synced" | "unsynced";
  /** When this process began to look at the command. */
  readonly since: Instant;
  readonly now: Instant;
  /** What is left of the command's time, in seconds. */
  readonly timeLeft: number;
}

/** Longer answers would not fit through every broker; a status document may be this long. */
const longestResult = 32 * 1024;

/** interfaces 1.6. */
export function response(outcome: Outcome, about: About): Answer {
  const { id, name, scope, board, term, clock, since, now, timeLeft } = about;
  const { state, code, result, ...rest } = outcome;
  const isLong = result !== undefined && JSON.stringify(result).length > longestResult;
  return {
    id,
    name,
    scope,
    body: {
      v: 1,
      id,
      name,
      state,
      code,
      ...rest,
      ...(result && { result: isLong ? { truncated: true } : result }),
      board,
      term,
      at: isoTime(now.wall),
      clock,
      tookMs: Math.max(0, Math.round(elapsed(since, now))),
    },
    expirySeconds: answerExpiry(timeLeft),
    isTerminal: state !== "accepted" && state !== "running",
  };
}

/** Long enough to be fetched after the command's time is over, and gone by itself after that. */
export const answerExpiry = (timeLeft: number): number => Math.max(1, Math.round(Math.min(3600, timeLeft + 600)));

export function outcomeOf(effect: Effect): Outcome {
  if (effect.outcome === "done") return { state: "succeeded", code: 200, result: effect.result };
  const { outcome, code, error, message, result } = effect;
  return {
    state: outcome === "refused" ? "rejected" : "failed",
    code,
    error,
    message: message ?? error,
    ...(result && { result }),
  };
}
