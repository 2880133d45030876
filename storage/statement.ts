import type { SqliteStatement, SqlValue } from "./database.ts";

/** A prepared statement. `all` builds every row: only for texts that bound their rows. */
export class Statement<Row> {
  readonly #statement: SqliteStatement;
  readonly #translated: (error: unknown) => unknown;

  constructor(statement: SqliteStatement, translated: (error: unknown) => unknown) {
    this.#statement = statement;
    this.#translated = translated;
  }

  get(...values: readonly SqlValue[]): Row | undefined {
    try {
      return this.#statement.get(...values) as Row | undefined;
    } catch (error) {
      throw this.#translated(error);
    }
  }

  all(...values: readonly SqlValue[]): readonly Row[] {
    try {
      return this.#statement.all(...values) as readonly Row[];
    } catch (error) {
      throw this.#translated(error);
    }
  }

  /** Returns the number of rows written. */
  run(...values: readonly SqlValue[]): number {
    try {
      return this.#statement.run(...values).changes;
    } catch (error) {
      throw this.#translated(error);
    }
  }
}
