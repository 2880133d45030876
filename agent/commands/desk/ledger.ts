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
  /** The fingerprint of the key that signed it. */
  readonly key: string | undefined;
}

/** What was answered to a command that came before. */
export interface Known {
  readonly hash: string;
  readonly answer: JsonRecord;
  readonly lapses: LastingEnd | undefined;
}

/** Rows that cannot be forgotten yet are kept; beyond this nothing more is accepted. */
const mostRows = 2000;

/** Answers may be asked for as long after the command's own time. */
const afterlife: Millis = 600_000;

/** A command of the board itself, which names no time. */
const localLife: Millis = 600_000;

/** The log of commands in the words of the desk: with times that outlive boots, and with what the disk refused so far. */
export class Ledger {
  /** Now, in this boot, by a clock that may be trusted or not. */
  readonly moment: () => Moment;
  readonly #ambient: Ambient;
  readonly #log: CommandLog;
  /** Terminal answers that could not be written down yet. */
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

  /** Throws where it cannot be written down. From the return on the command is carried out, whatever happens to this process. */
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

  /** Why a command is refused where this log cannot be used. */
  unavailable(error: unknown): Refusal {
    this.#ambient.log.warn("a command could not be written down", { error });
    return rejected(507, "journal-unavailable", error instanceof Error ? error.message : String(error));
  }

  begin(id: string): void {
    this.#log.begin(id);
  }

  /** The effect is there: what cannot be written down now is written later, and known until then. */
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

  /** Returns how many commands were forgotten: those that cannot come again. */
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

  /** Terminal answers that may not be on their way yet. */
  untold(): readonly CommandRow[] {
    return this.#log.untold();
  }

  latest(count: number): readonly CommandRow[] {
    return this.#log.latest(count);
  }

  /** The end of a command's own time: what its message has left, and not beyond its `exp`. */
  endOf({ expirySeconds }: Request, exp?: string): LastingEnd {
    const moment = this.moment();
    const ofMessage = expirySeconds === undefined ? localLife : expirySeconds * 1000;
    const ofEnvelope = exp === undefined || !moment.isSynced ? ofMessage : Date.parse(exp) - moment.now.wall;
    return lastingEnd(Math.max(0, Math.min(ofMessage, ofEnvelope)), moment);
  }

  /** What is left of it; 0: nothing. */
  leftOf(end: LastingEnd | undefined): Millis {
    return end === undefined ? 0 : Math.max(0, left(end, this.moment()));
  }

  /** As long as the broker may deliver it again, or its own end would let it be played again, and a while longer. */
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
