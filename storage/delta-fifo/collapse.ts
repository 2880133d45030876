import type { Change, DeltaType, Identity, Key, StoredObject } from "../object.ts";

/** One pending delta of a key. Its object is in the journal or in memory, and is read only if needed. */
export interface DeltaRow extends Identity {
  readonly type: DeltaType;
  /**
   * False for a Sync or a tombstone, which refers to the object of the preceding row or, if there is none, to the
   * stored object.
   */
  readonly hasObject: boolean;
}

/**
 * Whether a delta is a deletion that follows a deletion of the same key. Such a delta is not queued: the older of two
 * successive deletions is kept, because it ended the object that readers know. If the older one is a tombstone, which
 * carries no object, it takes over the newer one's.
 */
export const isRepeatedDeletion = (last: Pick<DeltaRow, "type"> | undefined, type: DeltaType): boolean =>
  last?.type === "Deleted" && type === "Deleted";

/** The net result of one key's deltas. */
export interface CollapseResult<T, Row extends DeltaRow> {
  readonly changes: readonly Change<T>[];
  /** The state to store; undefined if the object no longer exists. */
  readonly after: T | undefined;
  /** The row whose object is `after`; undefined if `after` was already stored. */
  readonly row: Row | undefined;
}

/**
 * Merges the deltas of one uid into one change, from the previous state to the newest. If the uid changes, the previous
 * object is reported as deleted and the new one as added, even if no watch delivered the deletion. An object that was
 * added and deleted within these deltas is not reported. Whether an object was added or updated follows from the
 * previous state, not from the delta's type.
 */
export function collapse<T extends StoredObject, Row extends DeltaRow>(
  key: Key,
  stored: T | undefined,
  rows: readonly Row[],
  objectOf: (row: Row) => T,
): CollapseResult<T, Row> {
  const changes: Change<T>[] = [];
  let state = stored;
  let row: Row | undefined;
  for (const { last, lastWithObject } of runsOf(rows)) {
    const object = lastWithObject && objectOf(lastWithObject);
    if (state !== undefined && state.metadata.uid !== last.uid) {
      changes.push({ key, before: state, after: undefined });
      state = undefined;
    }
    const before = state;
    if (last.type === "Deleted") {
      if (before !== undefined) {
        const deleted = newest(before, object ?? before);
        changes.push({ key, before: deleted, after: undefined, ...(deleted !== before && { known: before }) });
      }
      state = undefined;
      row = undefined;
    } else {
      state = object ?? before;
      row = lastWithObject ?? row;
      if (state !== undefined) changes.push({ key, before, after: state });
    }
  }
  return { changes, after: state, row };
}

/** Adjacent rows of the same uid. */
interface Run<Row extends DeltaRow> {
  last: Row;
  /** The last row of the run that has an object; undefined if no row has one. */
  lastWithObject: Row | undefined;
}

function runsOf<Row extends DeltaRow>(rows: readonly Row[]): readonly Run<Row>[] {
  const runs: Run<Row>[] = [];
  for (const row of rows) {
    let run = runs.at(-1);
    if (run === undefined || run.last.uid !== row.uid) {
      run = { last: row, lastWithObject: undefined };
      runs.push(run);
    }
    run.last = row;
    if (row.hasObject) run.lastWithObject = row;
  }
  return runs;
}

/**
 * The newer of two last known states. Usually this is `deleted`, but a deletion that arrives late may carry an older
 * state.
 */
function newest<T extends StoredObject>(known: T, deleted: T): T {
  const [a, b] = [known.metadata.resourceVersion, deleted.metadata.resourceVersion];
  const areNumbers = /^\d+$/.test(a) && /^\d+$/.test(b);
  return areNumbers && BigInt(a) > BigInt(b) ? known : deleted;
}
