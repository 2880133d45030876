import type { Database } from "./database.ts";

export interface CommandRow {
  readonly id: string;
  readonly name: string;
  readonly scope: string;
  readonly origin: string;
  readonly author: string;
  /** Of the payload as it came. */
  readonly hash: string;
  /** "" once there is a terminal answer. */
  readonly payload: string;
  /** accepted: nothing was begun that may not be begun again. running: it may have been. Otherwise terminal. */
  readonly state: string;
  /** JSON. */
  readonly answer: string;
  /** The ends of its own time and of the time in which it may come again, as the caller wrote them. */
  readonly lapses: string;
  readonly keep: string;
}

const columns = "id, name, scope, origin, author, hash, payload, state, answer, lapses, keep";
const open = "state IN ('accepted', 'running')";
const page = 64;

/** The commands that were accepted. Each method is one transaction, on disk when it returns: the file is written with synchronous=FULL. */
export class CommandLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  find(id: string): CommandRow | undefined {
    return this.#database.prepare<CommandRow>(`SELECT ${columns} FROM commands WHERE id = ?`).get(id);
  }

  /**
   * The command and the counter of its key together: neither can be used a second time from here on. `key` is the key's
   * fingerprint: a name would be that of whichever key is called so.
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

  /** From here on it may have had its effect, or a part of it. */
  begin(id: string): void {
    this.#database.prepare(`UPDATE commands SET state = 'running' WHERE id = ? AND ${open}`).run(id);
  }

  /** The one terminal answer; a second one changes nothing. `isTold`: nobody has to be told later. */
  settle(id: string, state: string, answer: string, isTold: boolean): void {
    this.#database
      .prepare(`UPDATE commands SET state = ?, answer = ?, payload = '', told = ? WHERE id = ? AND ${open}`)
      .run(state, answer, isTold ? 1 : 0, id);
  }

  told(id: string): void {
    this.#database.prepare("UPDATE commands SET told = 1 WHERE id = ? AND told = 0").run(id);
  }

  /** What has no terminal answer, in the order in which it came. */
  unsettled(): readonly CommandRow[] {
    return this.#database
      .prepare<CommandRow>(`SELECT ${columns} FROM commands WHERE ${open} ORDER BY seq LIMIT 256`)
      .all();
  }

  /** Terminal answers of which nobody knows whether they got on their way, in the order in which the commands came. */
  untold(): readonly CommandRow[] {
    return this.#database
      .prepare<CommandRow>(`SELECT ${columns} FROM commands WHERE told = 0 AND NOT ${open} ORDER BY seq LIMIT 256`)
      .all();
  }

  /** Newest first. */
  latest(count: number): readonly CommandRow[] {
    return this.#database
      .prepare<CommandRow>(`SELECT ${columns} FROM commands ORDER BY seq DESC LIMIT ${Math.trunc(count)}`)
      .all();
  }

  /** The highest that was accepted of a key. */
  counter(key: string): number | undefined {
    return this.#database.prepare<{ counter: number }>("SELECT counter FROM command_counters WHERE kid = ?").get(key)
      ?.counter;
  }

  size(): number {
    return this.#database.prepare<{ size: number }>("SELECT count(*) AS size FROM commands").get()?.size ?? 0;
  }

  /** Forgets settled commands, oldest first, as far as `mayGo` says that they cannot come again. Returns how many. */
  forget(mayGo: (keep: string) => boolean): number {
    return this.#database.transaction(() => {
      const select = this.#database.prepare<{ seq: number; id: string; keep: string }>(
        `SELECT seq, id, keep FROM commands WHERE seq > ? AND NOT ${open} ORDER BY seq LIMIT ${page}`,
      );
      const remove = this.#database.prepare("DELETE FROM commands WHERE id = ?");
      let forgotten = 0;
      for (let after = 0; ; ) {
        const rows = select.all(after);
        for (const { id, keep } of rows) if (mayGo(keep)) forgotten += remove.run(id);
        const last = rows.at(-1);
        if (last === undefined || rows.length < page) return forgotten;
        after = last.seq;
      }
    });
  }
}
