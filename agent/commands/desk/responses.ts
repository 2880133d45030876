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

/** Data of a command that every answer to it needs. */
export interface Ticket extends Pick<Request, "id" | "name" | "scope" | "origin"> {
  /** When this process received it. */
  readonly since: Instant;
  /** The command's deadline. */
  readonly lapses: LastingEnd | undefined;
}

export interface ResponsesParts {
  readonly board: string;
  readonly ledger: Ledger;
  readonly site: SiteControls;
  readonly clock: () => "synced" | "unsynced";
}

/** Brokers may drop longer answers; a status document has the same limit. */
const longestResult = 32 * 1024;

/** Builds the answers to commands (docs/interfaces.md#answers). */
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

  /** Repeats an earlier answer with the expiry that remains now. */
  again(body: JsonRecord, { id, name, scope, lapses }: Ticket): Answer {
    const isTerminal = body.state !== "accepted" && body.state !== "running";
    // Long enough to fetch the answer after the command's deadline; the broker drops it afterwards.
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
