import { type DecisionRecord, restraintNow, type StoryState, subjectText } from "./decision-record.ts";
import type { RecordedAct, Restraint } from "./grounds.ts";

/** One change of a decision record. */
export interface NamedChange {
  readonly at: string;
  readonly act: RecordedAct;
  readonly state: StoryState;
  /** The object of the act: node/NAME or pod/NAMESPACE/NAME. */
  readonly object: string;
  readonly board: string;
  readonly by: string;
  /** The facts on which the act is based, as a clause. */
  readonly because: string;
  /** Why it is held back. */
  readonly why?: Restraint["why"];
  readonly error?: string;
}

/** The changes of decision records within some time. */
export interface ChangeSummary {
  /** The term of the last change. */
  readonly term: number;
  /** The number of acts that entered each state. */
  readonly counts: readonly { readonly act: RecordedAct; readonly state: StoryState; readonly count: number }[];
  /** The first changes, at most `maxNamed`. */
  readonly first: readonly NamedChange[];
}

/** All changes are counted, but only this many are named, because an outage may change thousands of records. */
const maxNamed = 10;

/** Collects the changes of decision records for a reader that asks from time to time. */
export class DecisionChanges {
  readonly #counts = new Map<string, ChangeSummary["counts"][number]>();
  #first: NamedChange[] = [];
  #term = 0;

  add(record: DecisionRecord): void {
    const { act, state, term } = record;
    const key = `${act} ${state}`;
    this.#counts.set(key, { act, state, count: (this.#counts.get(key)?.count ?? 0) + 1 });
    this.#term = term;
    if (this.#first.length < maxNamed) this.#first.push(named(record));
  }

  /** The changes since the last call; undefined if there were none. */
  take(): ChangeSummary | undefined {
    if (this.#counts.size === 0) return undefined;
    const summary = { term: this.#term, counts: [...this.#counts.values()], first: this.#first };
    this.#counts.clear();
    this.#first = [];
    return summary;
  }
}

function named(record: DecisionRecord): NamedChange {
  const { act, state, on, board, by, because, last, error } = record;
  const why = restraintNow(record)?.why;
  return {
    at: last.at,
    act,
    state,
    object: subjectText(on),
    board,
    by,
    because: because.kind,
    ...(why !== undefined && { why }),
    ...(state === "failed" && error !== undefined && { error }),
  };
}
