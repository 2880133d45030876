import type { Database } from "./database.ts";
import { Memo } from "./memo.ts";

/** Messages kept on disk until the broker has them. State is not: an old document must not replace a current one. */
export type OutboxClass = "response" | "event";

/** A time on this board: monotonic milliseconds, and the boot in which they count. */
export interface Moment {
  readonly boot: string;
  readonly mono: number;
}

export interface Letter {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  /** MQTT properties, as JSON. */
  readonly properties: string;
  /** When there is no room, the lowest rank goes first, and within a rank the oldest. */
  readonly rank: number;
  /** Milliseconds after which the message is worthless. */
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

/** Events dropped before any broker received them, since the last report. */
export interface Dropped {
  readonly count: number;
  /** Their first and last `seq`. */
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
/** How many letters that the broker refuses are kept for inspection. */
const mostDead = 10;
const columns = "id, class, topic, payload, retain, properties, rank, seq, boot, since, ttl";

/** Age on the clock of this boot. Time before a reboot is unknown: such a row lives longer, never shorter. */
const age = "(CASE WHEN boot = ? THEN ? - since ELSE ? END)";

/**
 * Messages waiting for the broker, in state.db: on disk when `put` or `event` returns. Each class has its own bound, so
 * that a flood of events displaces no answer.
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

  /** One transaction: stores the answer, enforces the bound, and runs `also`. */
  respond(letter: Letter, at: Moment, also: () => void): void {
    this.#database.transaction(() => {
      this.#insert("response", letter, undefined, at);
      also();
      this.#makeRoom("response");
    });
  }

  /**
   * One transaction: takes the next number, stores the event, enforces the bound, and records what was dropped for it.
   */
  event(write: (seq: number) => Letter, at: Moment): number {
    return this.#database.transaction(() => {
      const seq = this.count("seq");
      this.#insert("event", write(seq), seq, at);
      this.#makeRoom("event");
      return seq;
    });
  }

  /** Increments a counter that survives restarts: 1, 2, 3 … */
  count(name: string): number {
    return this.#database.transaction(() => {
      const next = this.last(name) + 1;
      this.#memo.set(area, name, String(next));
      return next;
    });
  }

  /** The last number given out; 0 if none. */
  last(name: string): number {
    return Number(this.#memo.get(area, name) ?? 0);
  }

  /** The next letters of a class in order of arrival, leaving out the ids in `without`. */
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

  /** For a letter larger than the broker accepts: it is never sent again, and kept for inspection. */
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

  /** Deletes expired letters; expired events are recorded as dropped. */
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

  /** When the oldest letter was stored. */
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

  /** The number of letters dropped, for lack of room or after their ttl, since the outbox was created. */
  get lost(): number {
    return this.last("lost");
  }

  /** One transaction: queues an event that reports the drops, and clears their record. */
  tellDropped(write: (dropped: Dropped, seq: number) => Letter, at: Moment): void {
    this.#database.transaction(() => {
      const { dropped } = this;
      if (dropped === undefined) return;
      this.#memo.delete(area, "dropped");
      this.event((seq) => write(dropped, seq), at);
    });
  }

  /** True while another event would not displace an older one. */
  get hasRoom(): boolean {
    const { rows, bytes } = this.usage("event");
    return rows < this.#bounds.event.rows && bytes < this.#bounds.event.bytes * 0.9;
  }

  #insert(of: OutboxClass, letter: Letter, seq: number | undefined, at: Moment): void {
    const { topic, payload, retain, properties, rank, ttl } = letter;
    // The sender's correlation data is among the properties, and takes room as well.
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

/** Milliseconds left of a letter's ttl. */
export const ttlLeft = (row: Pick<OutboxRow, "boot" | "mono" | "ttl">, now: Moment): number =>
  row.ttl - (row.boot === now.boot ? now.mono - row.mono : now.mono);

function readDropped(text: string | undefined): Dropped | undefined {
  if (text === undefined) return undefined;
  const { count, from, to } = JSON.parse(text) as Dropped;
  return { count, from, to };
}
