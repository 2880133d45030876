import { expect, test } from "vitest";
import { dispositionOf, hintOf } from "../../agent/base/errors.ts";
import { kindOf, StorageError, type StorageErrorKind } from "../../storage/errors.ts";

test.each<[code: string, kind: StorageErrorKind | undefined]>([
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_BUSY_SNAPSHOT", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_FULL", "full"],
  ["SQLITE_IOERR_SHMSIZE", "full"],
  ["SQLITE_CORRUPT", "damaged"],
  ["SQLITE_CORRUPT_INDEX", "damaged"],
  ["SQLITE_NOTADB", "damaged"],
  ["SQLITE_IOERR", "io"],
  ["SQLITE_IOERR_WRITE", "io"],
  ["SQLITE_READONLY_DIRECTORY", "io"],
  ["SQLITE_CANTOPEN", "io"],
  ["SQLITE_CONSTRAINT_UNIQUE", undefined],
  ["SQLITE_ERROR", undefined],
  ["ENOENT", undefined],
])("%s means %s", (code, kind) => {
  expect(kindOf(Object.assign(new Error("no"), { code }))).toBe(kind);
});

test("other errors have no storage kind", () => {
  for (const error of [undefined, null, "SQLITE_FULL", new Error("SQLITE_FULL"), { code: 5 }]) {
    expect(kindOf(error)).toBeUndefined();
  }
});

test("the disposition follows from the kind, and from whether the file can be recreated", () => {
  const reaction = (kind: StorageErrorKind, disposable: boolean): string =>
    dispositionOf(new StorageError(kind, { file: "x.db", disposable }));
  expect(reaction("busy", true)).toBe("retry");
  expect(reaction("damaged", true)).toBe("rebuild");
  expect(reaction("damaged", false)).toBe("exit");
  for (const kind of ["full", "io", "newer"] as const) expect(reaction(kind, true)).toBe("exit");
});

test("an error names the file and the reason, and has a hint", () => {
  const cause = new Error("disk I/O error");
  const error = new StorageError("full", { file: "/var/lib/siteward/cache.db", cause });
  expect(error.message).toBe("/var/lib/siteward/cache.db: the disk is full");
  expect(error.cause).toBe(cause);
  expect(hintOf(error)).toContain("Free some space");
});
