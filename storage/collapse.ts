import type { Change, DeltaType, Identity, Key, StoredObject } from "./object.ts";

/** A delta whose object is stored elsewhere: in the journal, or in memory. */
export interface DeltaRow extends Identity {
  readonly type: DeltaType;
  /** Length of its text in bytes; null if it has none and refers to the object known before. */
  readonly bytes: number | null;
}

export type WithBody<Row extends DeltaRow> = Row & { readonly bytes: number };

/** The net result of one key's deltas. */
export interface Outcome<T, Row extends DeltaRow> {
  readonly changes: readonly Change<T>[];
  /** The state to store; undefined if none. */
  readonly after: T | undefined;
  /** The row that holds `after`, unless it is what was stored before. */
  readonly row: WithBody<Row> | undefined;
}

/**
 * Merges deltas of one uid into one change, from the state before to the newest. When the uid changes, the former
 * object is reported deleted and the new one added, even if no watch delivered the deletion. An object that came and
 * went in between is not reported. Whether an object was added or updated follows from the state before, not from the
 * delta's type.
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

/** Groups adjacent rows of the same uid. */
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

/** A deletion usually carries the last state; a late one may carry an older state than ours. */
function newest<T extends StoredObject>(known: T, deleted: T): T {
  const [a, b] = [known.metadata.resourceVersion, deleted.metadata.resourceVersion];
  const areNumbers = /^\d+$/.test(a) && /^\d+$/.test(b);
  return areNumbers && BigInt(a) > BigInt(b) ? known : deleted;
}
