/**
 * busy: another process holds the file · full: no space left on the disk · damaged: the content is not a database, or
 * not ours · foreign: a cache that was filled beside another state.db · io: the file cannot be read or written · newer:
 * the file was written by a later version of this program.
 */
export type StorageErrorKind = "busy" | "full" | "damaged" | "foreign" | "io" | "newer";

interface Circumstances {
  readonly file: string;
  readonly cause?: unknown;
  /** Overrides the kind's hint. */
  readonly hint?: string;
  /**
   * True: the file is a cache, which may be deleted and refilled. Other files hold unique facts and need an operator.
   */
  readonly disposable?: boolean;
  /** The file's folder cannot be created: a matter of the configuration. */
  readonly isPlace?: boolean;
}

/** Storage imports no other folder, so the error states its disposition itself. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly kind: StorageErrorKind;
  readonly disposition: "retry" | "rebuild" | "exit";
  readonly hint: string;
  readonly file: string;
  readonly disposable: boolean;
  readonly isPlace: boolean;

  constructor(kind: StorageErrorKind, { file, cause, hint, disposable = true, isPlace = false }: Circumstances) {
    super(`${file}: ${sentences[kind]}`, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.file = file;
    this.disposable = disposable;
    this.isPlace = isPlace;
    this.disposition =
      kind === "busy" ? "retry" : (kind === "damaged" || kind === "foreign") && disposable ? "rebuild" : "exit";
    this.hint = hint ?? hints[kind];
  }
}

/** Maps a driver's error to a kind; undefined if its code alone does not concern the file. */
export function kindOf(error: unknown): StorageErrorKind | undefined {
  const found = codeOf(error);
  // Extended result codes begin with the plain one's name: SQLITE_IOERR_SHMSIZE, SQLITE_CORRUPT_INDEX.
  return kinds.find(([code]) => found?.startsWith(code))?.[1];
}

/** True if SQLite itself failed: either the file has changed under us, or one of our statements is a bug. */
export const isOfSqlite = (error: unknown): boolean => codeOf(error)?.startsWith("SQLITE_") ?? false;

const codeOf = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;

const kinds: readonly (readonly [code: string, kind: StorageErrorKind])[] = [
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_FULL", "full"],
  // The WAL index could not grow: that file lies beside the database, on the same disk.
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
  full: "there is no room left on the disk",
  damaged: "the file is damaged",
  foreign: "it belongs to another state.db",
  io: "the file cannot be read or written",
  newer: "the file was written by a newer version",
};

const hints: Readonly<Record<StorageErrorKind, string>> = {
  busy: "Make sure that only one agent uses this file.",
  full: "Free space on the disk that holds the file; the agent goes on by itself then.",
  damaged: "Move the file away, then restart the service.",
  foreign: "Nothing has to be done: the cache is filled again.",
  io: "Check that the folder exists, belongs to the service's user and is not mounted read-only; the agent goes on by itself then.",
  newer: "Install that version again, or move the file away.",
};
