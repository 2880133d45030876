/** The part of the SQLite binding that we use. */
export interface SqliteDriver {
  readonly inTransaction: boolean;
  prepare(sql: string): SqliteStatement;
  exec(sql: string): unknown;
  close(): unknown;
}

export interface SqliteStatement {
  get(...values: readonly SqlValue[]): unknown;
  all(...values: readonly SqlValue[]): unknown[];
  run(...values: readonly SqlValue[]): { readonly changes: number };
}

export type SqlValue = string | number | null;

/**
 * A prepared statement. `all` holds all rows in memory at the same time, so it is only for queries that limit their
 * rows.
 */
export class Statement<Row> {
  readonly #statement: SqliteStatement;
  readonly #toStorageError: (error: unknown) => unknown;

  constructor(statement: SqliteStatement, toStorageError: (error: unknown) => unknown) {
    this.#statement = statement;
    this.#toStorageError = toStorageError;
  }

  get(...values: readonly SqlValue[]): Row | undefined {
    try {
      return this.#statement.get(...values) as Row | undefined;
    } catch (error) {
      throw this.#toStorageError(error);
    }
  }

  all(...values: readonly SqlValue[]): readonly Row[] {
    try {
      return this.#statement.all(...values) as readonly Row[];
    } catch (error) {
      throw this.#toStorageError(error);
    }
  }

  /** Returns the number of rows inserted, updated or deleted. */
  run(...values: readonly SqlValue[]): number {
    try {
      return this.#statement.run(...values).changes;
    } catch (error) {
      throw this.#toStorageError(error);
    }
  }
}
