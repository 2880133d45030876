/**
 * busy: another process holds the file · full: no space left on the disk · damaged: the content is not a database, or
 * is another program's · foreign: the cache was filled next to another state.db · io: the file cannot be read or
 * written · newer: the file was written by a later version of this program.
 */
export type StorageErrorKind = "busy" | "full" | "damaged" | "foreign" | "io" | "newer";

interface Circumstances {
  readonly file: string;
  readonly cause?: unknown;
  /** Overrides the kind's hint. */
  readonly hint?: string;
  /**
   * True (the default) if the file is a cache, which the program may delete and refill. False if it holds facts that
   * exist nowhere else; an operator must then decide.
   */
  readonly disposable?: boolean;
  /** True if the state folder cannot be created because the configuration names a wrong path. Default: false. */
  readonly isWrongPath?: boolean;
}

/** A file that cannot be used, with the required reaction and a hint for the operator. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly kind: StorageErrorKind;
  readonly disposition: "retry" | "rebuild" | "exit";
  readonly hint: string;
  readonly file: string;
  readonly disposable: boolean;
  readonly isWrongPath: boolean;

  constructor(kind: StorageErrorKind, { file, cause, hint, disposable = true, isWrongPath = false }: Circumstances) {
    super(`${file}: ${sentences[kind]}`, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.file = file;
    this.disposable = disposable;
    this.isWrongPath = isWrongPath;
    this.disposition =
      kind === "busy" ? "retry" : (kind === "damaged" || kind === "foreign") && disposable ? "rebuild" : "exit";
    this.hint = hint ?? hints[kind];
  }
}

export const isDamage = (error: unknown): error is StorageError =>
  error instanceof StorageError && error.kind === "damaged";

/** Whether a system call failed with this code, such as ENOENT. */
export const hasCode = (error: unknown, code: string): boolean => codeOf(error) === code;

/** Maps an error of the SQLite binding to a kind; undefined if its code does not blame the file. */
export function kindOf(error: unknown): StorageErrorKind | undefined {
  const found = codeOf(error);
  // Extended result codes begin with the name of the primary one: SQLITE_IOERR_SHMSIZE, SQLITE_CORRUPT_INDEX.
  return kinds.find(([code]) => found?.startsWith(code))?.[1];
}

/**
 * True for an error that SQLite itself reports: the file was changed by another program, or one of our statements is
 * wrong.
 */
export const isOfSqlite = (error: unknown): boolean => codeOf(error)?.startsWith("SQLITE_") ?? false;

const codeOf = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;

const kinds: readonly (readonly [code: string, kind: StorageErrorKind])[] = [
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_FULL", "full"],
  // The WAL index (the -shm file, on the same disk as the database) could not grow.
  ["SQLITE_IOERR_SHMSIZE", "full"],
  // Expected content cannot be read: the file is shorter than its header says, or the disk has lost part of it.
  ["SQLITE_IOERR_SHORT_READ", "damaged"],
  ["SQLITE_IOERR_READ", "damaged"],
  ["SQLITE_IOERR_CORRUPTFS", "damaged"],
  ["SQLITE_IOERR_DATA", "damaged"],
  ["SQLITE_CORRUPT", "damaged"],
  ["SQLITE_NOTADB", "damaged"],
  ["SQLITE_IOERR", "io"],
  ["SQLITE_READONLY", "io"],
  ["SQLITE_CANTOPEN", "io"],
  ["SQLITE_PERM", "io"],
  ["SQLITE_AUTH", "io"],
];

const sentences: Readonly<Record<StorageErrorKind, string>> = {
  busy: "the file is in use by another process",
  full: "the disk is full",
  damaged: "the file is damaged",
  foreign: "the cache belongs to another state.db",
  io: "the file cannot be read or written",
  newer: "the file was written by a newer version of siteward",
};

const hints: Readonly<Record<StorageErrorKind, string>> = {
  busy: "Make sure that only one agent uses this file.",
  full: "Free some space on the file's disk; the agent then continues by itself.",
  damaged: "Move the file away, then restart the service.",
  foreign: "No action is needed: the agent refills the cache.",
  io: "Check that the folder exists, belongs to the user of the service and is not mounted read-only; the agent then continues by itself.",
  newer: "Install that version again, or move the file away.",
};
