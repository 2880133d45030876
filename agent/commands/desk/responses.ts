import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Instant } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import { isoTime } from "../../base/time/iso-time.ts";
import type { LastingEnd } from "../../base/time/lasting-end.ts";
import type { Effect, SiteControls } from "./controls.ts";
import type { Ledger } from "./ledger.ts";
import type { Refusal } from "./refusal.ts";
import type { Answer, CommandRequest } from "./request.ts";

export type CommandOutcome =
  | {
      readonly state: "accepted" | "running" | "succeeded" | "cancelled";
      readonly code: number;
      readonly result?: JsonRecord;
    }
  | (Omit<Refusal, "state"> & { readonly state: "rejected" | "expired" | "failed" });

/** The data of a command that every answer to it needs. */
export interface Ticket extends Pick<CommandRequest, "id" | "name" | "scope" | "origin"> {
  /** When this process received the command, or resumed it. */
  readonly since: Instant;
  /** The command's deadline; undefined if the stored one cannot be read. */
  readonly deadline: LastingEnd | undefined;
}

export interface ResponsesDeps {
  readonly board: string;
  readonly ledger: Ledger;
  readonly site: SiteControls;
  readonly clock: () => "synced" | "unsynced";
}

/**
 * Maximum length of a result in bytes, because brokers may drop longer messages. A status document has the same limit.
 */
const maxResultLength = 32 * 1024;

const unreadable: CommandOutcome = {
  state: "failed",
  code: 500,
  error: "internal",
  message: "the stored answer cannot be read; the command may have taken effect",
};

/** Builds the answers to commands (docs/interfaces.md#answers). */
export class Responses {
  readonly #ambient: Ambient;
  readonly #deps: ResponsesDeps;

  constructor(ambient: Ambient, deps: ResponsesDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  to({ state, code, result, ...rest }: CommandOutcome, ticket: Ticket): Answer {
    const { id, name, since } = ticket;
    const { board, site, clock } = this.#deps;
    const { term } = site.standing();
    const now = this.#ambient.clock.now();
    const isLong = result !== undefined && JSON.stringify(result).length > maxResultLength;
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

  /** Repeats an earlier answer with the remaining expiry. `body` is undefined if the stored answer cannot be read. */
  again(body: JsonRecord | undefined, ticket: Ticket): Answer {
    if (body === undefined) return this.to(unreadable, ticket);
    const { id, name, scope, deadline } = ticket;
    const isTerminal = body.state !== "accepted" && body.state !== "running";
    // A client may fetch the answer until ten minutes after the command's deadline; then the broker drops it.
    const expiry = Math.min(3600, this.#deps.ledger.leftOf(deadline) / 1000 + 600);
    return { id, name, scope, body, isTerminal, expirySeconds: Math.max(1, Math.round(expiry)) };
  }
}

export function outcomeOf(effect: Effect): CommandOutcome {
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
