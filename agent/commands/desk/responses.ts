import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Instant } from "../../base/clock.ts";
import { isoTime } from "../../base/iso-time.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { LastingEnd } from "../../base/lasting-end.ts";
import type { Effect, SiteControls } from "./controls.ts";
import type { Ledger } from "./ledger.ts";
import type { Refusal } from "./refusal.ts";
import type { Answer, Request } from "./request.ts";

export type Outcome =
  | {
      readonly state: "accepted" | "running" | "succeeded" | "cancelled";
      readonly code: number;
      readonly result?: JsonRecord;
    }
  | (Omit<Refusal, "state"> & { readonly state: "rejected" | "expired" | "failed" });

/** What is known of a command from the moment it came. */
export interface Ticket extends Pick<Request, "id" | "name" | "scope" | "origin"> {
  /** When this process began to look at it. */
  readonly since: Instant;
  /** The end of its own time. */
  readonly lapses: LastingEnd | undefined;
}

export interface ResponsesParts {
  readonly board: string;
  readonly ledger: Ledger;
  readonly site: SiteControls;
  readonly clock: () => "synced" | "unsynced";
}

/** Longer answers would not fit through every broker; a status document may be this long. */
const longestResult = 32 * 1024;

/** What this board answers to commands (docs/interfaces.md#answers). */
export class Responses {
  readonly #ambient: Ambient;
  readonly #parts: ResponsesParts;

  constructor(ambient: Ambient, parts: ResponsesParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  to({ state, code, result, ...rest }: Outcome, ticket: Ticket): Answer {
    const { id, name, since } = ticket;
    const { board, site, clock } = this.#parts;
    const { term } = site.standing();
    const now = this.#ambient.clock.now();
    const isLong = result !== undefined && JSON.stringify(result).length > longestResult;
    const body = {
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
      clock: clock(),
      tookMs: Math.max(0, Math.round(elapsed(since, now))),
    };
    return this.again(body, ticket);
  }

  /** What was answered before, with the time that it has left now. */
  again(body: JsonRecord, { id, name, scope, lapses }: Ticket): Answer {
    const isTerminal = body.state !== "accepted" && body.state !== "running";
    // Long enough to be fetched after the command's time is over, and gone by itself after that.
    const expiry = Math.min(3600, this.#parts.ledger.leftOf(lapses) / 1000 + 600);
    return { id, name, scope, body, isTerminal, expirySeconds: Math.max(1, Math.round(expiry)) };
  }
}

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
