import type { CommandLog, CommandRow } from "../../../storage/command-log.ts";
import type { Ambient } from "../../base/ambient.ts";
import type { Millis } from "../../base/clock.ts";
import { type JsonRecord, recordIn } from "../../base/json.ts";
import {
  type LastingEnd,
  lastingEnd,
  lastingEndText,
  type Moment,
  readLastingEnd,
  remainingTime,
} from "../../base/time/lasting-end.ts";
import { maxLifetime, skewAllowance } from "./checks.ts";
import type { Envelope } from "./envelope.ts";
import { type Refusal, rejection } from "./refusal.ts";
import type { CommandRequest } from "./request.ts";

export interface Accepted {
  readonly request: CommandRequest;
  readonly envelope: Envelope;
  readonly by: string;
  readonly hash: string;
  readonly answer: JsonRecord;
  /** Fingerprint of the signing key; undefined if the command is not signed. */
  readonly key: string | undefined;
}

/** The answer given to an earlier command. */
export interface KnownCommand {
  readonly hash: string;
  /** The stored answer; undefined if it cannot be read. */
  readonly answer: JsonRecord | undefined;
  /** The command's deadline; undefined if the stored one cannot be read. */
  readonly deadline: LastingEnd | undefined;
}

/** Maximum number of rows of the log. If it is full and no row can be deleted yet, no further command is accepted. */
const maxRows = 2000;

/** How long an answer is kept beyond the command's deadline. */
const retention: Millis = 600_000;

/** Lifetime of a local command, which has no message expiry. */
const localLife: Millis = 600_000;

/**
 * The command log as the desk uses it: adds deadlines that survive reboots, and holds answers that are not on disk yet.
 */
export class Ledger {
  /** The current time on this boot's clock, and whether the wall clock is synchronised. */
  readonly moment: () => Moment;
  readonly #ambient: Ambient;
  readonly #log: CommandLog;
  /** Terminal answers not written to disk yet. */
  readonly #unwritten = new Map<string, { readonly answer: JsonRecord; readonly isDelivered: boolean }>();
  readonly #damaged = new Set<string>();

  constructor(ambient: Ambient, { log, moment }: { readonly log: CommandLog; readonly moment: () => Moment }) {
    this.#ambient = ambient;
    this.#log = log;
    this.moment = moment;
  }

  find(id: string): KnownCommand | undefined {
    const row = this.#log.find(id);
    if (!row) return undefined;
    const answer = this.#unwritten.get(id)?.answer ?? this.answerOf(row);
    return { hash: row.hash, answer, deadline: readLastingEnd(row.lapses) };
  }

  /** The latest stored answer; undefined if it cannot be read. */
  answerOf({ id, answer }: CommandRow): JsonRecord | undefined {
    const read = recordIn(answer);
    if (read === undefined && !this.#damaged.has(id)) {
      this.#damaged.add(id);
      this.#ambient.log.warn("the stored answer to a command cannot be read", { id });
    }
    return read;
  }

  /** Ids of commands whose stored answer this process could not read. */
  get damaged(): ReadonlySet<string> {
    return this.#damaged;
  }

  /** Throws if the command cannot be persisted. Once this returns, the command is executed even if the process dies. */
  admit({ request, envelope, by, hash, answer, key }: Accepted): void {
    if (this.#log.size() >= maxRows && this.forget() === 0) throw new Error("the command log is full");
    const { id, name, scope, origin, payload } = request;
    const deadline = this.endOf(request, envelope.exp);
    this.#log.admit(
      {
        ...{ id, name, scope, origin, author: by, hash, state: "accepted" },
        payload: Buffer.from(payload).toString("utf8"),
        answer: JSON.stringify(answer),
        lapses: lastingEndText(deadline),
        keep: lastingEndText(this.#keep(request, envelope)),
      },
      key !== undefined && envelope.ctr !== undefined ? { key, counter: envelope.ctr } : undefined,
    );
  }

  /** The refusal of a command because the log cannot be read or written. */
  unavailable(error: unknown): Refusal {
    this.#ambient.log.warn("the command log cannot be used", { error });
    return rejection(507, "journal-unavailable", error instanceof Error ? error.message : String(error));
  }

  begin(id: string): void {
    this.#log.begin(id);
  }

  /** Because the command has taken effect, an answer that cannot be written now is kept in memory and written later. */
  settle(id: string, answer: JsonRecord, isDelivered: boolean): void {
    this.#unwritten.set(id, { answer, isDelivered });
    this.writeRest();
  }

  /** Writes the answers that could not be written before. */
  writeRest(): void {
    for (const [id, { answer, isDelivered }] of this.#unwritten) {
      try {
        this.#log.settle(id, String(answer.state), JSON.stringify(answer), isDelivered);
        this.#unwritten.delete(id);
      } catch (error) {
        this.#ambient.log.warn("the outcome of a command cannot be stored yet", { id, error });
        return;
      }
    }
  }

  markDelivered(id: string): void {
    this.#log.markDelivered(id);
  }

  /** Deletes commands that the broker can no longer deliver again, and returns their number. */
  forget(): number {
    const moment = this.moment();
    return this.#log.forget((text) => {
      const keep = readLastingEnd(text);
      return keep === undefined || remainingTime(keep, moment) <= 0;
    });
  }

  counter(key: string): number | undefined {
    return this.#log.counter(key);
  }

  unsettled(): readonly CommandRow[] {
    return this.#log.unsettled();
  }

  /** Terminal answers that may not be in the outbox yet. */
  undelivered(): readonly CommandRow[] {
    return this.#log.undelivered();
  }

  latest(count: number): readonly CommandRow[] {
    return this.#log.latest(count);
  }

  /** The deadline of a command: the message expiry, limited by `exp` if the clock is synchronised. */
  endOf({ expirySeconds }: CommandRequest, exp?: string): LastingEnd {
    const moment = this.moment();
    const ofMessage = expirySeconds === undefined ? localLife : expirySeconds * 1000;
    const ofEnvelope = exp === undefined || !moment.isSynced ? ofMessage : Date.parse(exp) - moment.now.wall;
    return lastingEnd(Math.max(0, Math.min(ofMessage, ofEnvelope)), moment);
  }

  /** Time left until `end`, never negative; 0 without an end. */
  leftOf(end: LastingEnd | undefined): Millis {
    return end === undefined ? 0 : Math.max(0, remainingTime(end, this.moment()));
  }

  /**
   * How long an id is remembered: until neither redelivery by the broker nor a replay before `exp` is possible, plus a
   * margin.
   */
  #keep({ expirySeconds }: CommandRequest, { exp }: Envelope): LastingEnd {
    const moment = this.moment();
    const ofMessage = expirySeconds === undefined ? localLife : expirySeconds * 1000;
    const ofEnvelope = exp === undefined || !moment.isSynced ? 0 : Date.parse(exp) - moment.now.wall + skewAllowance;
    return lastingEnd(Math.min(maxLifetime, Math.max(ofMessage, ofEnvelope)) + retention, moment);
  }
}
