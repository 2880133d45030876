import type { Database } from "./database/database.ts";
import { Memo } from "./memo.ts";

/**
 * Kinds of messages that are kept on disk until the broker has received them. State documents are not kept, because an
 * old one must not replace a current one.
 */
export type OutboxClass = "response" | "event";

/** A moment on the monotonic clock of one boot of this board. */
export interface BootTime {
  /** The id of the boot. */
  readonly boot: string;
  /** Milliseconds since that boot began. */
  readonly mono: number;
}

/** A message to be stored. */
export interface OutboxMessage {
  readonly topic: string;
  readonly payload: string;
  readonly retain: boolean;
  /** MQTT properties, as JSON. */
  readonly properties: string;
  /** If the class is full, the message with the lowest rank is dropped; among several, the oldest one. */
  readonly rank: number;
  /** Milliseconds from now until the message expires. */
  readonly ttl: number;
}

export interface OutboxRow extends OutboxMessage, BootTime {
  readonly id: number;
  readonly class: OutboxClass;
  /** The seq of an event, numbered without gaps; null for a response. */
  readonly seq: number | null;
}

/** Maximum number and total size of the messages of a class. */
export interface Bound {
  readonly rows: number;
  readonly bytes: number;
}

export interface Usage {
  readonly rows: number;
  readonly bytes: number;
}

/** Events that were dropped before the broker received them, and have not been reported yet. */
export interface Dropped {
  readonly count: number;
  /** The lowest `seq` among them. */
  readonly from: number;
  /** The highest `seq` among them. */
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
/** How many undeliverable messages are kept for inspection. */
const maxDead = 10;
const columns = "id, class, topic, payload, retain, properties, rank, seq, boot, since, ttl";

/**
 * SQL for the age of a row in milliseconds. For a row from an earlier boot, only the time since the current boot began
 * is known, so it may expire late, but never early.
 */
const age = "(CASE WHEN boot = ? THEN ? - since ELSE ? END)";

/**
 * Messages waiting for the broker, in state.db; they are on disk when `respond` or `event` returns. Each class has its
 * own limit, so that a flood of events does not displace answers.
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

  /** One transaction: stores the answer to a command, runs `also`, and enforces the bound. */
  respond(message: OutboxMessage, at: BootTime, also: () => void): void {
    this.#database.transaction(() => {
      this.#insert("response", message, undefined, at);
      also();
      this.#makeRoom("response");
    });
  }

  /**
   * One transaction: takes the next number, stores the event, enforces the bound, and records which events were dropped
   * to make room. Returns the number.
   */
  event(write: (seq: number) => OutboxMessage, at: BootTime): number {
    return this.#database.transaction(() => {
      const seq = this.count("seq");
      this.#insert("event", write(seq), seq, at);
      this.#makeRoom("event");
      return seq;
    });
  }

  /** Increments a counter that survives restarts, and returns it: 1, 2, 3 … */
  count(name: string): number {
    return this.#database.transaction(() => {
      const next = this.last(name) + 1;
      this.#memo.set(area, name, String(next));
      return next;
    });
  }

  /** The current value of a counter; 0 if it has never been incremented. */
  last(name: string): number {
    return Number(this.#memo.get(area, name) ?? 0);
  }

  /** At most `limit` messages of a class, oldest first, except the ids and the topics in `without`. */
  next(
    of: OutboxClass,
    limit: number,
    without: { readonly ids?: readonly number[]; readonly topics?: readonly string[] } = {},
  ): readonly OutboxRow[] {
    const { ids = [], topics = [] } = without;
    return this.#database
      .prepare<Stored>(
        `SELECT ${columns} FROM outbox
         WHERE class = ? AND id NOT IN (SELECT value FROM json_each(?)) AND topic NOT IN (SELECT value FROM json_each(?))
         ORDER BY id LIMIT ?`,
      )
      .all(of, JSON.stringify(ids), JSON.stringify(topics), limit)
      .map(({ since, retain, ...row }) => ({ ...row, retain: retain === 1, mono: since }));
  }

  delete(id: number): void {
    this.#database.prepare("DELETE FROM outbox WHERE id = ?").run(id);
  }

  /** Marks a message that the broker does not accept, so that it is not sent again, but kept for inspection. */
  markUndeliverable(id: number): void {
    this.#database.transaction(() => {
      this.count("lost");
      this.#database.prepare("UPDATE outbox SET class = 'dead' WHERE id = ?").run(id);
      this.#database
        .prepare(
          `DELETE FROM outbox WHERE class = 'dead' AND id NOT IN
             (SELECT id FROM outbox WHERE class = 'dead' ORDER BY id DESC LIMIT ${maxDead})`,
        )
        .run();
    });
  }

  /** Deletes expired messages; expired events are recorded as dropped. */
  expire(at: BootTime): void {
    const select = this.#database.prepare<{ id: number; seq: number | null }>(
      `SELECT id, seq FROM outbox WHERE class <> 'dead' AND ${age} >= ttl ORDER BY id LIMIT 1000`,
    );
    const late = select.all(at.boot, at.mono, at.mono);
    if (late.length === 0) return;
    this.#database.transaction(() => {
      for (const { id, seq } of late) this.#drop(id, seq);
    });
  }

  /**
   * Drops up to `limit` messages whose topics do not begin with any of these strings, and records the events among them
   * as dropped. Returns how many.
   */
  dropOutside(prefixes: readonly string[], limit: number): number {
    const outside = this.#database
      .prepare<{ id: number; seq: number | null }>(
        `SELECT id, seq FROM outbox
         WHERE class <> 'dead' AND NOT EXISTS (SELECT 1 FROM json_each(?) WHERE substr(topic, 1, length(value)) = value)
         ORDER BY id LIMIT ?`,
      )
      .all(JSON.stringify(prefixes), limit);
    if (outside.length === 0) return 0;
    this.#database.transaction(() => {
      for (const { id, seq } of outside) this.#drop(id, seq);
    });
    return outside.length;
  }

  usage(of: OutboxClass | "dead"): Usage {
    const row = this.#database
      .prepare<{ rows: number; bytes: number | null }>(
        "SELECT count(*) AS rows, sum(bytes) AS bytes FROM outbox WHERE class = ?",
      )
      .get(of);
    return { rows: row?.rows ?? 0, bytes: row?.bytes ?? 0 };
  }

  /** When the oldest waiting message was stored; undefined if none is waiting. */
  oldest(): BootTime | undefined {
    const row = this.#database
      .prepare<{ boot: string; since: number }>(
        "SELECT boot, since FROM outbox WHERE class <> 'dead' ORDER BY id LIMIT 1",
      )
      .get();
    return row && { boot: row.boot, mono: row.since };
  }

  /** The dropped events that have not been reported yet; undefined if all have been. */
  get dropped(): Dropped | undefined {
    return readDropped(this.#memo.get(area, "dropped"));
  }

  /**
   * The number of messages dropped since the outbox was created, because there was no room, they expired, or the broker
   * refused them.
   */
  get lost(): number {
    return this.last("lost");
  }

  /** One transaction: stores an event that reports the dropped events, and clears their record. */
  reportDropped(write: (dropped: Dropped, seq: number) => OutboxMessage, at: BootTime): void {
    this.#database.transaction(() => {
      const { dropped } = this;
      if (dropped === undefined) return;
      this.#memo.delete(area, "dropped");
      this.event((seq) => write(dropped, seq), at);
    });
  }

  /** True if another event can be stored without dropping an older one. */
  get hasRoom(): boolean {
    const { rows, bytes } = this.usage("event");
    return rows < this.#bounds.event.rows && bytes < this.#bounds.event.bytes * 0.9;
  }

  #insert(of: OutboxClass, message: OutboxMessage, seq: number | undefined, at: BootTime): void {
    const { topic, payload, retain, properties, rank, ttl } = message;
    // The sender's correlation data is among the properties, and takes up room as well.
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

/** Milliseconds until a message expires. */
export const ttlLeft = (row: Pick<OutboxRow, "boot" | "mono" | "ttl">, now: BootTime): number =>
  row.ttl - (row.boot === now.boot ? now.mono - row.mono : now.mono);

function readDropped(text: string | undefined): Dropped | undefined {
  if (text === undefined) return undefined;
  const { count, from, to } = JSON.parse(text) as Dropped;
  return { count, from, to };
}
