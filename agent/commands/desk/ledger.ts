import type { CommandLog, CommandRow } from "../../../storage/command-log.ts";
import type { Ambient } from "../../base/ambient.ts";
import type { Millis } from "../../base/clock.ts";
import { isRecord, type JsonRecord } from "../../base/json.ts";
import {
  type LastingEnd,
  lastingEnd,
  lastingEndText,
  left,
  type Moment,
  readLastingEnd,
} from "../../base/lasting-end.ts";
import { longestLife, skewAllowance } from "./checks.ts";
import type { Envelope } from "./envelope.ts";
import { type Refusal, rejected } from "./refusal.ts";
import type { Request } from "./request.ts";

export interface Accepted {
  readonly request: Request;
  readonly envelope: Envelope;
  readonly by: string;
  readonly hash: string;
  readonly answer: JsonRecord;
  /** Fingerprint of the signing key. */
  readonly key: string | undefined;
}

/** The answer given to an earlier command. */
export interface Known {
  readonly hash: string;
  readonly answer: JsonRecord;
  readonly lapses: LastingEnd | undefined;
}

/** Rows that cannot be deleted yet are kept; above this number no command is accepted. */
const mostRows = 2000;

/** Answers are kept this long after the command's deadline. */
const afterlife: Millis = 600_000;

/** Lifetime of a local command, which has no message expiry. */
const localLife: Millis = 600_000;

/**
 * The command log as the desk uses it: with deadlines that survive reboots, and with answers not yet written to disk.
 */
export class Ledger {
  /** The current time in this boot, and whether the clock is synchronised. */
  readonly moment: () => Moment;
  readonly #ambient: Ambient;
  readonly #log: CommandLog;
  /** Terminal answers not written to disk yet. */
  readonly #unwritten = new Map<string, { readonly answer: JsonRecord; readonly isTold: boolean }>();

  constructor(ambient: Ambient, { log, moment }: { readonly log: CommandLog; readonly moment: () => Moment }) {
    this.#ambient = ambient;
    this.#log = log;
    this.moment = moment;
  }

  find(id: string): Known | undefined {
    const row = this.#log.find(id);
    if (!row) return undefined;
    const answer = this.#unwritten.get(id)?.answer ?? readAnswer(row.answer);
    return { hash: row.hash, answer, lapses: readLastingEnd(row.lapses) };
  }

  /** Throws if the command cannot be persisted. Once this returns, the command is executed even if the process dies. */
  admit({ request, envelope, by, hash, answer, key }: Accepted): void {
    if (this.#log.size() >= mostRows && this.forget() === 0) throw new Error("too many commands have to be remembered");
    const { id, name, scope, origin, payload } = request;
    const lapses = this.endOf(request, envelope.exp);
    this.#log.admit(
      {
        ...{ id, name, scope, origin, author: by, hash, state: "accepted" },
        payload: Buffer.from(payload).toString("utf8"),
        answer: JSON.stringify(answer),
        lapses: lastingEndText(lapses),
        keep: lastingEndText(this.#keep(request, envelope)),
      },
      key !== undefined && envelope.ctr !== undefined ? { key, counter: envelope.ctr } : undefined,
    );
  }

  /** The refusal to use while the log cannot be read or written. */
  unavailable(error: unknown): Refusal {
    this.#ambient.log.warn("a command could not be written down", { error });
    return rejected(507, "journal-unavailable", error instanceof Error ? error.message : String(error));
  }

  begin(id: string): void {
    this.#log.begin(id);
  }

  /** The command has taken effect: an answer that cannot be written now is kept in memory and written later. */
  settle(id: string, answer: JsonRecord, isTold: boolean): void {
    this.#unwritten.set(id, { answer, isTold });
    this.writeRest();
  }

  writeRest(): void {
    for (const [id, { answer, isTold }] of this.#unwritten) {
      try {
        this.#log.settle(id, String(answer.state), JSON.stringify(answer), isTold);
        this.#unwritten.delete(id);
      } catch (error) {
        this.#ambient.log.warn("the end of a command could not be written down yet", { id, error });
        return;
      }
    }
  }

  told(id: string): void {
    this.#log.told(id);
  }

  /** Deletes commands that can no longer be delivered again and returns their number. */
  forget(): number {
    const moment = this.moment();
    return this.#log.forget((text) => {
      const keep = readLastingEnd(text);
      return keep === undefined || left(keep, moment) <= 0;
    });
  }

  counter(key: string): number | undefined {
    return this.#log.counter(key);
  }

  unsettled(): readonly CommandRow[] {
    return this.#log.unsettled();
  }

  /** Terminal answers that may not be in the outbox yet. */
  untold(): readonly CommandRow[] {
    return this.#log.untold();
  }

  latest(count: number): readonly CommandRow[] {
    return this.#log.latest(count);
  }

  /** The deadline of a command: the message expiry, limited by `exp` if the clock is synchronised. */
  endOf({ expirySeconds }: Request, exp?: string): LastingEnd {
    const moment = this.moment();
    const ofMessage = expirySeconds === undefined ? localLife : expirySeconds * 1000;
    const ofEnvelope = exp === undefined || !moment.isSynced ? ofMessage : Date.parse(exp) - moment.now.wall;
    return lastingEnd(Math.max(0, Math.min(ofMessage, ofEnvelope)), moment);
  }

  /** Time left until `end`, never negative; 0 without an end. */
  leftOf(end: LastingEnd | undefined): Millis {
    return end === undefined ? 0 : Math.max(0, left(end, this.moment()));
  }

  /**
   * How long an id is remembered: until neither the broker nor a replay before `exp` can bring it back, plus a margin.
   */
  #keep({ expirySeconds }: Request, { exp }: Envelope): LastingEnd {
    const moment = this.moment();
    const ofMessage = expirySeconds === undefined ? localLife : expirySeconds * 1000;
    const ofEnvelope = exp === undefined || !moment.isSynced ? 0 : Date.parse(exp) - moment.now.wall + skewAllowance;
    return lastingEnd(Math.min(longestLife, Math.max(ofMessage, ofEnvelope)) + afterlife, moment);
  }
}

export function readAnswer(text: string): JsonRecord {
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? value : {};
}
