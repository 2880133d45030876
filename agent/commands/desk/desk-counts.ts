import type { CommandRow } from "../../../storage/command-log.ts";
import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { isRecord, recordIn } from "../../base/json.ts";
import type { Refusal } from "./refusal.ts";
import type { Outcome } from "./responses.ts";

/** One of the latest commands, for the status. */
export interface Latest {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly at: Instant;
  readonly by: string;
  /** Unknown for commands that ended before this process started: their payload has been deleted. */
  readonly reason: string | undefined;
}

/** Counters of the desk, for metrics and status. */
export interface Counts {
  /** Commands that did not succeed, by error; code 0: no answer could be sent. */
  readonly rejected: readonly { readonly code: number; readonly error: string; readonly count: number }[];
  readonly answered: readonly { readonly name: string; readonly state: string; readonly count: number }[];
  readonly replayed: number;
}

interface Rejected {
  readonly code: number;
  readonly error: string;
  count: number;
  said: Instant | undefined;
}

const mostLatest = 5;

/** Each kind of refusal is logged at most once a minute. */
const logPause: Millis = 60_000;

export class DeskCounts {
  readonly #ambient: Ambient;
  readonly #rejected = new Map<string, Rejected>();
  readonly #answered = new Map<string, { readonly name: string; readonly state: string; count: number }>();
  #replayed = 0;
  #latest: readonly Latest[] = [];

  constructor(ambient: Ambient) {
    this.#ambient = ambient;
  }

  view(): Counts {
    return {
      rejected: [...this.#rejected.values()].map(({ code, error, count }) => ({ code, error, count })),
      answered: [...this.#answered.values()],
      replayed: this.#replayed,
    };
  }

  /** Newest first. */
  get latest(): readonly Latest[] {
    return this.#latest;
  }

  begin(rows: readonly CommandRow[]): void {
    const now = this.#ambient.clock.now();
    this.#latest = rows.slice(0, mostLatest).map(({ id, name, state, author, answer, payload }) => {
      const told: unknown = JSON.parse(answer);
      const asked = recordIn(payload)?.reason;
      const reason = typeof asked === "string" ? asked : undefined;
      const wall = isRecord(told) && typeof told.at === "string" ? Date.parse(told.at) : now.wall;
      return { id, name, state, by: author, reason, at: shifted(now, wall - now.wall) };
    });
  }

  /** Records a state change of an accepted command. */
  moved(command: Omit<Latest, "at">): void {
    const others = this.#latest.filter(({ id }) => id !== command.id);
    this.#latest = [{ ...command, at: this.#ambient.clock.now() }, ...others].slice(0, mostLatest);
  }

  answered(name: string, outcome: Outcome): void {
    const { state } = outcome;
    const key = `${name} ${state}`;
    const found = this.#answered.get(key) ?? { name, state, count: 0 };
    found.count++;
    this.#answered.set(key, found);
    if ("error" in outcome) this.#count(outcome.code, outcome.error);
  }

  rejected({ code, error, message }: Refusal, name: string): void {
    const { clock, log } = this.#ambient;
    const now = clock.now();
    const found = this.#count(code, error);
    if (found.said && elapsed(found.said, now) < logPause) return;
    found.said = now;
    log.warn("command refused", { name, code, error, why: message });
  }

  /** Counts a message that could not be answered. */
  ignored(why: string): void {
    this.#count(0, why);
  }

  #count(code: number, error: string): Rejected {
    const key = `${code} ${error}`;
    const found = this.#rejected.get(key) ?? { code, error, count: 0, said: undefined };
    found.count++;
    this.#rejected.set(key, found);
    return found;
  }

  replayed(): void {
    this.#replayed++;
  }
}
