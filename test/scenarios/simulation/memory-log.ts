import {
  type KeyRange,
  type LogChange,
  type RevisionEntry,
  RevisionLog,
  type WriteValue,
} from "../../../storage/revision-log.ts";

interface Row extends RevisionEntry {
  readonly previous: number;
  readonly deleted: boolean;
}

/**
 * A RevisionLog without SQL, because a simulated site reads it thousands of times. Its database stays empty.
 * memory-log.test.ts compares the two.
 */
export class MemoryLog extends RevisionLog {
  /** By revision, oldest first. */
  readonly #rows = new Map<number, Row>();
  /** The remaining history of each key. */
  readonly #histories = new Map<string, Row[]>();
  #revision = 0;
  #compacted = 0;

  override get revision(): number {
    return this.#revision;
  }

  override get compacted(): number {
    return this.#compacted;
  }

  override get(key: string): RevisionEntry | undefined {
    const newest = this.#histories.get(key)?.at(-1);
    return newest?.deleted ? undefined : newest;
  }

  override create(key: string, value: WriteValue): RevisionEntry | undefined {
    const newest = this.#histories.get(key)?.at(-1);
    return newest === undefined || newest.deleted ? this.#append(key, newest?.revision ?? 0, false, value) : undefined;
  }

  override update(key: string, previous: number, value: WriteValue): RevisionEntry | undefined {
    return this.get(key)?.revision === previous ? this.#append(key, previous, false, value) : undefined;
  }

  override remove(key: string, previous: number, value: WriteValue): RevisionEntry | undefined {
    return this.get(key)?.revision === previous ? this.#append(key, previous, true, value) : undefined;
  }

  override page(range: KeyRange, at: number, limit: number): readonly RevisionEntry[] {
    return this.#live(range, at).slice(0, limit);
  }

  override count(range: KeyRange, at: number): number {
    return this.#live(range, at).length;
  }

  override after(revision: number, { from, to }: KeyRange, limit: number): readonly LogChange[] {
    const changes: LogChange[] = [];
    for (let at = revision + 1; at <= this.#revision && changes.length < limit; at++) {
      const row = this.#rows.get(at);
      if (row === undefined || row.key < from || row.key >= to) continue;
      const before = this.#rows.get(row.previous);
      const { key, value, deleted } = row;
      changes.push({ key, revision: at, value, deleted, before: before?.deleted ? undefined : before?.value });
    }
    return changes;
  }

  override compact(upTo: number, rows: number): boolean {
    const from = this.#compacted;
    const to = Math.min(upTo, from + rows, this.#revision);
    if (to <= from) return false;
    this.#compacted = to;
    for (const [key, history] of this.#histories) {
      const left = history.filter((row, index) => {
        const next = history[index + 1];
        return (next === undefined || next.revision > to) && !(row.deleted && row.revision <= to);
      });
      for (const row of history) if (!left.includes(row)) this.#rows.delete(row.revision);
      if (left.length > 0) this.#histories.set(key, left);
      else this.#histories.delete(key);
    }
    return to < upTo && to < this.#revision;
  }

  /** Restores the state of that revision and continues from it. The revision must not be compacted. */
  rollBack(revision: number): void {
    const to = Math.max(revision, this.#compacted);
    for (const [key, history] of this.#histories) {
      const left = history.filter((row) => row.revision <= to);
      if (left.length > 0) this.#histories.set(key, left);
      else this.#histories.delete(key);
    }
    for (const at of [...this.#rows.keys()]) if (at > to) this.#rows.delete(at);
    this.#revision = Math.min(this.#revision, to);
  }

  #live({ from, to }: KeyRange, at: number): readonly Row[] {
    const live: Row[] = [];
    for (const [key, history] of this.#histories) {
      if (key < from || key >= to) continue;
      const row = history.findLast(({ revision }) => revision <= at);
      if (row !== undefined && !row.deleted) live.push(row);
    }
    return live.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  #append(key: string, previous: number, deleted: boolean, value: WriteValue): RevisionEntry {
    const revision = this.#revision + 1;
    const row = { key, revision, value: value(revision), previous, deleted };
    this.#revision = revision;
    this.#rows.set(revision, row);
    const history = this.#histories.get(key);
    if (history) history.push(row);
    else this.#histories.set(key, [row]);
    return row;
  }
}
