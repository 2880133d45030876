import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { readRemote, startRemote } from "../../../agent/config/remote-file.ts";
import { CommandLog } from "../../../storage/command-log.ts";
import type { Database } from "../../../storage/database/database.ts";
import { inspect } from "../../../storage/database/inspection.ts";
import { openCache, openState } from "../../../storage/database/open.ts";
import { Memo } from "../../../storage/memo.ts";
import { list, popAll, pragmas, store } from "../../storage/object-store.ts";
import { statePragmas } from "../../support/state-pragmas.ts";
import { ensure, type Target, taken } from "../target.ts";
import { inFolder } from "./settings.ts";

const parts = ["", "-wal", "-shm"];

function fresh(folder: string, name: string, make: (file: string) => void): Buffer {
  const file = path.join(folder, name);
  make(file);
  return readFileSync(file);
}

/** Opens a database and reads it like a start. Damage found in use requires a rebuild, which is a valid result. */
const damaged = (
  name: string,
  make: (file: string) => Database,
  read: (database: Database, file: string) => void,
): Target => ({
  name,
  form: "bytes",
  share: 2,
  open: () =>
    inFolder((folder) => {
      const good = fresh(folder, "good.db", (file) => make(file).close());
      const file = path.join(folder, name);
      return {
        example: () => good,
        run: (input) => {
          for (const part of parts) rmSync(file + part, { force: true });
          writeFileSync(file, input);
          inspect(file, false);
          const isSound = taken(["StorageError"], () => {
            const database = make(file);
            try {
              read(database, file);
            } finally {
              database.close();
            }
          });
          // In any case the next start has a working database or a reason.
          return isSound && existsSync(file);
        },
      };
    }),
});

const cache = damaged(
  "cache.db",
  (file) => {
    const { database } = openCache({ file, pragmas });
    const { fifo } = store(database);
    if (fifo.resourceVersion === undefined) list(fifo, ["a@1", "b@2", "c@3"], "3");
    return database;
  },
  (database) => {
    const { fifo, indexer } = store(database);
    popAll(fifo);
    for (const object of indexer.list()) ensure(typeof object.metadata.name === "string", "a stored row is an object");
  },
);

const state = damaged(
  "state.db",
  (file) => {
    const { database } = openState({ file, pragmas: statePragmas, stamp: "20260102T030405Z" });
    const memo = new Memo(database);
    if (memo.get("a", "b") === undefined) memo.set("a", "b", "c");
    return database;
  },
  (database) => {
    const memo = new Memo(database);
    for (const area of memo.areas()) memo.get(area, "b");
    new CommandLog(database).find("ID-1");
  },
);

const remote: Target = {
  name: "remote.json",
  form: "json",
  share: 10,
  open: () =>
    inFolder((folder) => ({
      example: () => {
        const document = (version: number) => ({ version, hash: "a".repeat(64), config: { log: { level: "debug" } } });
        return JSON.stringify({
          v: 1,
          current: document(3),
          good: [document(2)],
          trial: { document: document(4), canaryMs: 60_000, before: {}, starts: 1 },
        });
      },
      run: (input) => {
        for (const name of ["remote.json", "remote.copy.json"]) writeFileSync(path.join(folder, name), input);
        readRemote(folder);
        return startRemote(folder).record.current !== undefined;
      },
    })),
};

export const databases: readonly Target[] = [cache, state, remote];
