import type { JournalRow } from "./journal.ts";
import type { Change, Key, StoredObject } from "./object.ts";

/** What the deltas of one key come to. */
export interface Outcome<T> {
  readonly changes: readonly Change<T>[];
  /** The state to store; undefined: none. */
  readonly after: T | undefined;
  /** The row that holds `after`, unless it is what was stored before. */
  readonly row: (JournalRow & { readonly bytes: number }) | undefined;
}

/**
 * Deltas of the same uid come to one change, from the state before to the newest. Where the uid changes, the former
 * object is reported gone and the new one as appeared, also if nobody saw the deletion. What came and went meanwhile is
 * not reported. Whether an object appeared or changed follows from what was there, not from the name of the delta.
 */
export function collapse<T extends StoredObject>(
  key: Key,
  stored: T | undefined,
  rows: readonly JournalRow[],
  decode: (row: JournalRow) => T,
): Outcome<T> {
  const changes: Change<T>[] = [];
  let state = stored;
  let row: Outcome<T>["row"];
  for (const run of runsOf(rows)) {
    const { last } = run;
    const object = run.body === undefined ? undefined : decode(run.body);
    if (state !== undefined && state.metadata.uid !== last.uid) {
      changes.push({ key, before: state, after: undefined });
      state = undefined;
    }
    const before = state;
    if (last.type === "Deleted") {
      if (before !== undefined) changes.push({ key, before: newest(before, object ?? before), after: undefined });
      state = undefined;
      row = undefined;
    } else {
      state = object ?? before;
      row = run.body ?? row;
      if (state !== undefined) changes.push({ key, before, after: state });
    }
  }
  return { changes, after: state, row };
}

interface Run {
  last: JournalRow;
  /** The newest row that holds an object. */
  body: (JournalRow & { readonly bytes: number }) | undefined;
}

/** Neighbours of the same uid. */
function runsOf(rows: readonly JournalRow[]): readonly Run[] {
  const runs: Run[] = [];
  for (const row of rows) {
    let run = runs.at(-1);
    if (run === undefined || run.last.uid !== row.uid) {
      run = { last: row, body: undefined };
      runs.push(run);
    }
    run.last = row;
    if (hasBody(row)) run.body = row;
  }
  return runs;
}

const hasBody = (row: JournalRow): row is JournalRow & { readonly bytes: number } => row.bytes !== null;

/** A deletion usually carries the last state; a late one can carry an older state than the one we have. */
function newest<T extends StoredObject>(known: T, deleted: T): T {
  const [a, b] = [known.metadata.resourceVersion, deleted.metadata.resourceVersion];
  const areNumbers = /^\d+$/.test(a) && /^\d+$/.test(b);
  return areNumbers && BigInt(a) > BigInt(b) ? known : deleted;
}
