import { existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Database, type Pragmas } from "../../storage/database/database.ts";
import type { Migration } from "../../storage/database/migrations.ts";
import { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../storage/indexer/indexer.ts";
import type { Change, Delta, DeltaType, IndexFunctions, StoredObject } from "../../storage/object.ts";
import { cacheMigrations } from "../../storage/schema.ts";

/** An object as small as storage can have one: where it is, and a heartbeat that may be quiet. */
export interface Thing extends StoredObject {
  readonly board?: string;
  readonly beat?: number;
  readonly tags?: readonly string[];
}

export const pragmas: Pragmas = {
  synchronous: "NORMAL",
  cacheKiB: 1024,
  mmapMiB: 0,
  walAutocheckpointPages: 400,
  journalSizeLimitKiB: 1024,
};

/** `thing("foo@2")`; after a slash the uid, which is else that of the name: `thing("foo@2/second")`. */
export function thing(spec: string, more: Omit<Thing, "metadata"> = {}): Thing {
  const [, name = "", resourceVersion = "", uid = `uid-${name}`] = /^([^@]+)@([^/]+)(?:\/(.+))?$/.exec(spec) ?? [];
  return freeze({ metadata: { name, uid, resourceVersion }, ...more });
}

/** Shared objects must not be changed: a test that does so fails. */
export function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freeze(part);
  }
  return value;
}

export const delta = (type: DeltaType, spec: string, more: Omit<Thing, "metadata"> = {}): Delta<Thing> => ({
  type,
  object: thing(spec, more),
});

/** "foo@2", with the uid where it is not the usual one. */
export function show(object: Thing | undefined): string {
  if (object === undefined) return "-";
  const { name, uid, resourceVersion } = object.metadata;
  return `${name}@${resourceVersion}${uid === `uid-${name}` ? "" : `/${uid}`}`;
}

/** "foo@1 > foo@2", "- > foo@2" for what appeared, "foo@2 > -" for what is gone. */
export const shownChanges = (changes: readonly Change<Thing>[]): readonly string[] =>
  changes.map(({ before, after }) => `${show(before)} > ${show(after)}`);

export const shown = (objects: Iterable<Thing>): readonly string[] => [...objects].map(show);

/** The steps of a program far newer than this one, which create nothing. */
const laterSteps: readonly Migration[] = Array.from({ length: 99 }, (_, index) => ({ number: index + 1, sql: "" }));

/** Creates a database of a format that this version does not know. */
export const createNewerFile = (file: string): void => Database.open({ file, migrations: laterSteps, pragmas }).close();

export const memory = (): Database => Database.open({ file: ":memory:", migrations: cacheMigrations, pragmas });

export const byBoard: IndexFunctions<Thing> = { board: ({ board }) => (board === undefined ? [] : [board]) };

export interface Store {
  readonly database: Database;
  readonly indexer: Indexer<Thing>;
  readonly fifo: DeltaFIFO<Thing>;
}

/** The cache of one resource, as it is after a start on this database. */
export function store(
  database: Database = memory(),
  options: {
    readonly deltasPerObject?: number;
    readonly decodedBytes?: number;
    readonly resource?: string;
    readonly isQuiet?: (stored: Thing, incoming: Thing) => boolean;
  } = {},
): Store {
  const { deltasPerObject = 16, decodedBytes = 1 << 20, resource = "things", isQuiet } = options;
  const indexer = new Indexer<Thing>({ database, resource, indices: byBoard, decodedBytes });
  const fifo = new DeltaFIFO<Thing>({ database, resource, indexer, deltasPerObject, ...(isQuiet && { isQuiet }) });
  return { database, indexer, fifo };
}

/** A store that already knows these objects. */
export function storeOf(specs: readonly string[], options: Parameters<typeof store>[1] = {}): Store {
  const made = store(memory(), options);
  list(made.fifo, specs, "1");
  popAll(made.fifo);
  return made;
}

export function list(fifo: DeltaFIFO<Thing>, specs: readonly string[], resourceVersion: string): void {
  const replacement = fifo.replace();
  replacement.page(specs.map((spec) => thing(spec)));
  replacement.commit(resourceVersion);
}

export function popAll(fifo: DeltaFIFO<Thing>): readonly string[] {
  const changes: string[] = [];
  while (fifo.depth > 0) changes.push(...shownChanges(fifo.pop(64)));
  return changes;
}

/** Only the heartbeat differs. */
export const onlyBeat = (stored: Thing, incoming: Thing): boolean =>
  stored.board === incoming.board && JSON.stringify(stored.tags) === JSON.stringify(incoming.tags);

/** Where many files can be written without a disk that has to sync each of them. */
export const inMemory = existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();

/** A folder that is gone when the test ends. */
export function scratch(parent = os.tmpdir()): Disposable & { readonly file: (name: string) => string } {
  const folder = mkdtempSync(path.join(parent, "siteward-storage-"));
  return {
    file: (name) => path.join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** How many rows a table has. */
export const rowsOf = (database: Database, table: string): number =>
  database.prepare<{ count: number }>(`SELECT count(*) AS count FROM ${table}`).get()?.count ?? -1;
