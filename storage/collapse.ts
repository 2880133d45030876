import type { Change, DeltaType, Identity, Key, StoredObject } from "./object.ts";

/** A delta whose object is somewhere: in the journal, or in memory. */
export interface DeltaRow extends Identity {
  readonly type: DeltaType;
  /** Length of its text in bytes; null: it has none, and speaks of the object that was known before. */
  readonly bytes: number | null;
}

export type WithBody<Row extends DeltaRow> = Row & { readonly bytes: number };

/** What the deltas of one key come to. */
export interface Outcome<T, Row extends DeltaRow> {
  readonly changes: readonly Change<T>[];
  /** The state to store; undefined: none. */
  readonly after: T | undefined;
  /** The row that holds `after`, unless it is what was stored before. */
  readonly row: WithBody<Row> | undefined;
}

/**
 * Deltas of the same uid come to one change, from the state before to the newest. Where the uid changes, the former
 * object is reported gone and the new one as appeared, also if nobody saw the deletion. What came and went meanwhile is
 * not reported. Whether an object appeared or changed follows from what was there, not from the name of the delta.
 */
export function collapse<T extends StoredObject, Row extends DeltaRow>(
  key: Key,
  stored: T | undefined,
  rows: readonly Row[],
  decode: (row: Row) => T,
): Outcome<T, Row> {
  const changes: Change<T>[] = [];
  let state = stored;
  let row: WithBody<Row> | undefined;
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

interface Run<Row extends DeltaRow> {
  last: Row;
  /** The newest row that holds an object. */
  body: WithBody<Row> | undefined;
}

/** Neighbours of the same uid. */
function runsOf<Row extends DeltaRow>(rows: readonly Row[]): readonly Run<Row>[] {
  const runs: Run<Row>[] = [];
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

const hasBody = <Row extends DeltaRow>(row: Row): row is WithBody<Row> => row.bytes !== null;

/** A deletion usually carries the last state; a late one can carry an older state than the one we have. */
function newest<T extends StoredObject>(known: T, deleted: T): T {
  const [a, b] = [known.metadata.resourceVersion, deleted.metadata.resourceVersion];
  const areNumbers = /^\d+$/.test(a) && /^\d+$/.test(b);
  return areNumbers && BigInt(a) > BigInt(b) ? known : deleted;
}
