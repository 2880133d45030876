/** The package brings no types. What we use of it is `SqliteDriver`; whatever has those members can take its place. */
declare module "better-sqlite3" {
  interface OpenOptions {
    /** How long a statement waits for a lock of another process, in milliseconds. */
    readonly timeout: number;
    readonly readonly?: boolean;
    /** Otherwise a file that is not there is made. */
    readonly fileMustExist?: boolean;
  }
  const Sqlite: new (file: string, options: OpenOptions) => import("./database.ts").SqliteDriver;
  export default Sqlite;
}
