import type { CommandRow } from "../../../storage/command-log.ts";
import type { Ambient } from "../../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { recordIn } from "../../base/json.ts";
import type { Refusal } from "./refusal.ts";
import type { CommandOutcome } from "./responses.ts";

/** One of the latest commands, for the status. */
export interface Latest {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly at: Instant;
  readonly by: string;
  /**
   * The author's reason; undefined if none was given, or if the command ended before this process started and its
   * payload has been deleted.
   */
  readonly reason: string | undefined;
}

/** Counters of the desk, for metrics and status. */
export interface DeskTotals {
  /** Commands that did not succeed, by error. Code 0 stands for messages that could not be answered. */
  readonly rejected: readonly { readonly code: number; readonly error: string; readonly count: number }[];
  /** Finished commands, by name and final state; `rehearsed` for a dry run that succeeded. */
  readonly answered: readonly { readonly name: string; readonly state: string; readonly count: number }[];
  /** Redelivered commands answered with the stored response. */
  readonly replayed: number;
}

interface Rejected {
  readonly code: number;
  readonly error: string;
  count: number;
  loggedAt: Instant | undefined;
}

const maxLatest = 5;

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

  view(): DeskTotals {
    return {
      rejected: [...this.#rejected.values()].map(({ code, error, count }) => ({ code, error, count })),
      answered: [...this.#answered.values()],
      replayed: this.#replayed,
    };
  }

  /** The latest commands, newest first. */
  get latest(): readonly Latest[] {
    return this.#latest;
  }

  /** Restores the latest commands from the log of the previous process. */
  begin(rows: readonly CommandRow[]): void {
    const now = this.#ambient.clock.now();
    this.#latest = rows.slice(0, maxLatest).map(({ id, name, state, author, answer, payload }) => {
      const answeredAt = Date.parse(String(recordIn(answer)?.at));
      const stated = recordIn(payload)?.reason;
      const reason = typeof stated === "string" ? stated : undefined;
      const wall = Number.isNaN(answeredAt) ? now.wall : answeredAt;
      return { id, name, state, by: author, reason, at: shifted(now, wall - now.wall) };
    });
  }

  /** Records a change of an accepted command's state. */
  moved(command: Omit<Latest, "at">): void {
    const others = this.#latest.filter(({ id }) => id !== command.id);
    this.#latest = [{ ...command, at: this.#ambient.clock.now() }, ...others].slice(0, maxLatest);
  }

  /** Counts a finished command. A dry run that succeeded is counted as `rehearsed`, because it changed nothing. */
  answered(name: string, outcome: CommandOutcome, isRehearsal = false): void {
    const state = isRehearsal && outcome.state === "succeeded" ? "rehearsed" : outcome.state;
    const key = `${name} ${state}`;
    const found = this.#answered.get(key) ?? { name, state, count: 0 };
    found.count++;
    this.#answered.set(key, found);
    if ("error" in outcome) this.#count(outcome.code, outcome.error);
  }

  recordRejection({ code, error, message }: Refusal, name: string): void {
    const { clock, log } = this.#ambient;
    const now = clock.now();
    const found = this.#count(code, error);
    if (found.loggedAt && elapsed(found.loggedAt, now) < logPause) return;
    found.loggedAt = now;
    log.warn("command refused", { name, code, error, why: message });
  }

  /** Counts a message that could not be answered. */
  ignored(why: string): void {
    this.#count(0, why);
  }

  #count(code: number, error: string): Rejected {
    const key = `${code} ${error}`;
    const found = this.#rejected.get(key) ?? { code, error, count: 0, loggedAt: undefined };
    found.count++;
    this.#rejected.set(key, found);
    return found;
  }

  replayed(): void {
    this.#replayed++;
  }
}
