import type { Database } from "./database/database.ts";

export interface CommandRow {
  readonly id: string;
  readonly name: string;
  readonly scope: string;
  readonly origin: string;
  readonly author: string;
  /** SHA-256 of the payload as received. */
  readonly hash: string;
  /** The payload as received; "" once there is a terminal answer. */
  readonly payload: string;
  /**
   * accepted: no step that must not be repeated has begun. running: such a step may have begun. Any other value is that
   * of the terminal answer.
   */
  readonly state: string;
  /** The newest answer, as JSON. */
  readonly answer: string;
  /** When the command expires, in the caller's format. */
  readonly lapses: string;
  /** The same command may be received again until this time, so the row is kept until then. In the caller's format. */
  readonly keep: string;
}

const columns = "id, name, scope, origin, author, hash, payload, state, answer, lapses, keep";
/** SQL: true for commands without a terminal answer. */
const open = "state IN ('accepted', 'running')";
const page = 64;

/**
 * The accepted commands. Each method is one transaction, on disk when it returns, because the file uses
 * synchronous=FULL.
 */
export class CommandLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  find(id: string): CommandRow | undefined {
    return this.#database.prepare<CommandRow>(`SELECT ${columns} FROM commands WHERE id = ?`).get(id);
  }

  /**
   * Stores the command and the counter of its signing key in one transaction, after which neither can be used again.
   * `key` is the key's fingerprint, because another key could be given the same name.
   */
  admit(row: CommandRow, counted?: { readonly key: string; readonly counter: number }): void {
    this.#database.transaction(() => {
      this.#database
        .prepare(
          `INSERT INTO commands (seq, ${columns})
           VALUES ((SELECT coalesce(max(seq), 0) + 1 FROM commands), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          ...[row.id, row.name, row.scope, row.origin, row.author, row.hash],
          ...[row.payload, row.state, row.answer, row.lapses, row.keep],
        );
      if (!counted) return;
      this.#database
        .prepare(
          `INSERT INTO command_counters (kid, counter) VALUES (?, ?)
           ON CONFLICT DO UPDATE SET counter = excluded.counter WHERE excluded.counter > counter`,
        )
        .run(counted.key, counted.counter);
    });
  }

  /** Marks a command as running, after which it may have taken effect, in whole or in part. */
  begin(id: string): void {
    this.#database.prepare(`UPDATE commands SET state = 'running' WHERE id = ? AND ${open}`).run(id);
  }

  /**
   * Stores the terminal answer; a second one is ignored. `isDelivered` is true if the answer need not be sent later.
   */
  settle(id: string, state: string, answer: string, isDelivered: boolean): void {
    this.#database
      .prepare(`UPDATE commands SET state = ?, answer = ?, payload = '', told = ? WHERE id = ? AND ${open}`)
      .run(state, answer, isDelivered ? 1 : 0, id);
  }

  markDelivered(id: string): void {
    this.#database.prepare("UPDATE commands SET told = 1 WHERE id = ? AND told = 0").run(id);
  }

  /** Commands without a terminal answer, in order of arrival. */
  unsettled(): readonly CommandRow[] {
    return this.#database
      .prepare<CommandRow>(`SELECT ${columns} FROM commands WHERE ${open} ORDER BY seq LIMIT 256`)
      .all();
  }

  /** Terminal answers that may not have been sent, in the order in which their commands arrived. */
  undelivered(): readonly CommandRow[] {
    return this.#database
      .prepare<CommandRow>(`SELECT ${columns} FROM commands WHERE told = 0 AND NOT ${open} ORDER BY seq LIMIT 256`)
      .all();
  }

  /** The last `count` commands, newest first. */
  latest(count: number): readonly CommandRow[] {
    return this.#database
      .prepare<CommandRow>(`SELECT ${columns} FROM commands ORDER BY seq DESC LIMIT ?`)
      .all(Math.trunc(count));
  }

  /** The highest counter accepted from the key with this fingerprint. */
  counter(key: string): number | undefined {
    return this.#database.prepare<{ counter: number }>("SELECT counter FROM command_counters WHERE kid = ?").get(key)
      ?.counter;
  }

  size(): number {
    return this.#database.prepare<{ size: number }>("SELECT count(*) AS size FROM commands").get()?.size ?? 0;
  }

  /** Deletes settled commands whose `keep` time has passed, according to `isOver`. Returns how many. */
  forget(isOver: (keep: string) => boolean): number {
    return this.#database.transaction(() => {
      const select = this.#database.prepare<{ seq: number; id: string; keep: string }>(
        `SELECT seq, id, keep FROM commands WHERE seq > ? AND NOT ${open} ORDER BY seq LIMIT ${page}`,
      );
      const remove = this.#database.prepare("DELETE FROM commands WHERE id = ?");
      let forgotten = 0;
      for (let after = 0; ; ) {
        const rows = select.all(after);
        for (const { id, keep } of rows) if (isOver(keep)) forgotten += remove.run(id);
        const last = rows.at(-1);
        if (last === undefined || rows.length < page) return forgotten;
        after = last.seq;
      }
    });
  }
}
