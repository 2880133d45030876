/** The package ships no types. We use only `SqliteDriver`; anything with those methods can replace it. */
declare module "better-sqlite3" {
  interface OpenOptions {
    /** How long a statement waits for a lock of another process, in milliseconds. */
    readonly timeout: number;
    readonly readonly?: boolean;
    /** If false, a missing file is created. */
    readonly fileMustExist?: boolean;
  }
  const Sqlite: new (file: string, options: OpenOptions) => import("./statement.ts").SqliteDriver;
  export default Sqlite;
}
