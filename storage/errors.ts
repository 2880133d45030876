/**
 * busy: another process holds the file · full: no room on the disk · damaged: what is in the file is not a database, or
 * not ours · foreign: a cache that was filled beside another state.db · io: the file cannot be read or written · newer: a later version of this program wrote the file.
 */
export type StorageErrorKind = "busy" | "full" | "damaged" | "foreign" | "io" | "newer";

interface Circumstances {
  readonly file: string;
  readonly cause?: unknown;
  /** Overrides the hint that goes with the kind. */
  readonly hint?: string;
  /** A cache is thrown away and filled again; what nobody else knows is left to a person. */
  readonly disposable?: boolean;
  /** There is no place for the file at all, which is a matter of the configuration. */
  readonly isPlace?: boolean;
}

/** Storage knows no other folder, so it states its disposition by itself. */
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

/** What a driver's error means, or undefined where its code alone does not speak of the file. */
export function kindOf(error: unknown): StorageErrorKind | undefined {
  const found = codeOf(error);
  // Extended result codes begin with the name of the plain one: SQLITE_IOERR_SHMSIZE, SQLITE_CORRUPT_INDEX.
  return kinds.find(([code]) => found?.startsWith(code))?.[1];
}

/** SQLite itself failed: it knows our statements, so either the file is not what it was or a statement is a bug of ours. */
export const isOfSqlite = (error: unknown): boolean => codeOf(error)?.startsWith("SQLITE_") ?? false;

const codeOf = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;

const kinds: readonly (readonly [code: string, kind: StorageErrorKind])[] = [
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_FULL", "full"],
  // The index of the WAL could not grow: that file lies beside the database, on the same disk.
  ["SQLITE_IOERR_SHMSIZE", "full"],
  // What should be there cannot be read: the file is shorter than it says, or the disk has lost a part of it.
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
