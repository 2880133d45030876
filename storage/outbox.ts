import type { Database } from "./database.ts";
import { Memo } from "./memo.ts";

/** What is kept on disk until the broker has it. State is not: a document of the past must not replace one of now. */
export type OutboxClass = "response" | "event";

/** A moment of this board: monotonic milliseconds, and the boot in which they count. */
export interface Moment {
  readonly boot: string;
  readonly mono: number;
}

export interface Letter {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  /** What goes beside the payload, as JSON. */
  readonly properties: string;
  /** Where there is no room, the least rank goes first, and of a rank the oldest. */
  readonly rank: number;
  /** Milliseconds after which nobody wants it any more. */
  readonly ttl: number;
}

export interface OutboxRow extends Letter, Moment {
  readonly id: number;
  readonly class: OutboxClass;
  /** Of an event. */
  readonly seq: number | null;
}

export interface Bound {
  readonly rows: number;
  readonly bytes: number;
}

export interface Usage {
  readonly rows: number;
  readonly bytes: number;
}

/** Events that no broker will ever see, since it was last told. */
export interface Dropped {
  readonly count: number;
  /** The first and the last `seq` of them. */
  readonly from: number;
  readonly to: number;
}

interface Stored {
  readonly id: number;
  readonly class: OutboxClass;
  readonly topic: string;
  readonly payload: string;
  readonly retain: number;
  readonly properties: string;
  readonly rank: number;
  readonly seq: number | null;
  readonly boot: string;
  readonly since: number;
  readonly ttl: number;
}

const area = "outbox";
/** Letters that no broker takes are kept for a look, so many of them. */
const mostDead = 10;
const columns = "id, class, topic, payload, retain, properties, rank, seq, boot, since, ttl";

/** Age on the clock of this boot. Of the time before a reboot nothing is known: such a row lives longer, never shorter. */
const age = "(CASE WHEN boot = ? THEN ? - since ELSE ? END)";

/**
 * What waits for the broker, in state.db: on disk when `put` or `event` returns. Each class has a bound of its own, so that
 * a flood of events costs no answer.
 */
export class Outbox {
  readonly #database: Database;
  readonly #memo: Memo;
  readonly #bounds: Readonly<Record<OutboxClass, Bound>>;

  constructor(database: Database, bounds: Readonly<Record<OutboxClass, Bound>>) {
    this.#database = database;
    this.#memo = new Memo(database);
    this.#bounds = bounds;
  }

  /** One transaction: the answer is there, the bound holds, and whatever else is to be true with it. */
  respond(letter: Letter, at: Moment, also: () => void): void {
    this.#database.transaction(() => {
      this.#insert("response", letter, undefined, at);
      also();
      this.#makeRoom("response");
    });
  }

  /** One transaction: the next number is taken, the event is there, the bound holds, and what was dropped for it is noted. */
  event(write: (seq: number) => Letter, at: Moment): number {
    return this.#database.transaction(() => {
      const seq = this.count("seq");
      this.#insert("event", write(seq), seq, at);
      this.#makeRoom("event");
      return seq;
    });
  }

  /** The next number of a counter that survives restarts: 1, 2, 3 … */
  count(name: string): number {
    return this.#database.transaction(() => {
      const next = this.last(name) + 1;
      this.#memo.set(area, name, String(next));
      return next;
    });
  }

  /** The number that was given last; 0: none yet. */
  last(name: string): number {
    return Number(this.#memo.get(area, name) ?? 0);
  }

  /** The next letters of a class, in the order in which they came, but for those whose numbers are in `without`. */
  next(of: OutboxClass, limit: number, without: readonly number[] = []): readonly OutboxRow[] {
    return this.#database
      .prepare<Stored>(
        `SELECT ${columns} FROM outbox
         WHERE class = ? AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT ?`,
      )
      .all(of, JSON.stringify(without), limit)
      .map(({ since, retain, ...row }) => ({ ...row, retain: retain === 1, mono: since }));
  }

  delete(id: number): void {
    this.#database.prepare("DELETE FROM outbox WHERE id = ?").run(id);
  }

  /** It is larger than the broker takes: it is never sent again, and kept for a look. */
  bury(id: number): void {
    this.#database.transaction(() => {
      this.#database.prepare("UPDATE outbox SET class = 'dead' WHERE id = ?").run(id);
      this.#database
        .prepare(
          `DELETE FROM outbox WHERE class = 'dead' AND id NOT IN
             (SELECT id FROM outbox WHERE class = 'dead' ORDER BY id DESC LIMIT ${mostDead})`,
        )
        .run();
    });
  }

  /** Forgets what nobody wants any more; of events it is noted. */
  expire(at: Moment): void {
    const select = this.#database.prepare<{ id: number; seq: number | null }>(
      `SELECT id, seq FROM outbox WHERE class <> 'dead' AND ${age} >= ttl ORDER BY id LIMIT 1000`,
    );
    const late = select.all(at.boot, at.mono, at.mono);
    if (late.length === 0) return;
    this.#database.transaction(() => {
      for (const { id, seq } of late) this.#drop(id, seq);
    });
  }

  usage(of: OutboxClass | "dead"): Usage {
    const row = this.#database
      .prepare<{ rows: number; bytes: number | null }>(
        "SELECT count(*) AS rows, sum(bytes) AS bytes FROM outbox WHERE class = ?",
      )
      .get(of);
    return { rows: row?.rows ?? 0, bytes: row?.bytes ?? 0 };
  }

  /** When the oldest letter was put here. */
  oldest(): Moment | undefined {
    const row = this.#database
      .prepare<{ boot: string; since: number }>(
        "SELECT boot, since FROM outbox WHERE class <> 'dead' ORDER BY id LIMIT 1",
      )
      .get();
    return row && { boot: row.boot, mono: row.since };
  }

  get dropped(): Dropped | undefined {
    return readDropped(this.#memo.get(area, "dropped"));
  }

  /** How many letters were given up, for want of room or of time, since the outbox was made. */
  get lost(): number {
    return this.last("lost");
  }

  /** One transaction: an event tells what was dropped, and the note of it is gone. */
  tellDropped(write: (dropped: Dropped, seq: number) => Letter, at: Moment): void {
    this.#database.transaction(() => {
      const { dropped } = this;
      if (dropped === undefined) return;
      this.#memo.delete(area, "dropped");
      this.event((seq) => write(dropped, seq), at);
    });
  }

  /** True while another event would not cost an older one its place. */
  get hasRoom(): boolean {
    const { rows, bytes } = this.usage("event");
    return rows < this.#bounds.event.rows && bytes < this.#bounds.event.bytes * 0.9;
  }

  #insert(of: OutboxClass, letter: Letter, seq: number | undefined, at: Moment): void {
    const { topic, payload, retain, properties, rank, ttl } = letter;
    // What a sender wants to have back lies among the properties, and takes room as well.
    const bytes = Buffer.byteLength(topic) + Buffer.byteLength(payload) + Buffer.byteLength(properties);
    this.#database
      .prepare(
        `INSERT INTO outbox (class, topic, payload, bytes, retain, properties, rank, seq, boot, since, ttl)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(of, topic, payload, bytes, retain ? 1 : 0, properties, rank, seq ?? null, at.boot, at.mono, ttl);
  }

  #makeRoom(of: OutboxClass): void {
    const bound = this.#bounds[of];
    let { rows, bytes } = this.usage(of);
    const least = this.#database.prepare<{ id: number; seq: number | null; bytes: number }>(
      "SELECT id, seq, bytes FROM outbox WHERE class = ? ORDER BY rank, id LIMIT 1",
    );
    while (rows > bound.rows || (bytes > bound.bytes && rows > 1)) {
      const row = least.get(of);
      if (row === undefined) return;
      this.#drop(row.id, row.seq);
      rows -= 1;
      bytes -= row.bytes;
    }
  }

  #drop(id: number, seq: number | null): void {
    this.delete(id);
    this.count("lost");
    if (seq === null) return;
    const { dropped } = this;
    const now: Dropped = {
      count: (dropped?.count ?? 0) + 1,
      from: Math.min(dropped?.from ?? seq, seq),
      to: Math.max(dropped?.to ?? seq, seq),
    };
    this.#memo.set(area, "dropped", JSON.stringify(now));
  }
}

/** Milliseconds that are left of a letter's time. */
export const ttlLeft = (row: Pick<OutboxRow, "boot" | "mono" | "ttl">, now: Moment): number =>
  row.ttl - (row.boot === now.boot ? now.mono - row.mono : now.mono);

function readDropped(text: string | undefined): Dropped | undefined {
  if (text === undefined) return undefined;
  const { count, from, to } = JSON.parse(text) as Dropped;
  return { count, from, to };
}
