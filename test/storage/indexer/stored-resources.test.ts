import { expect, test } from "vitest";
import { Database } from "../../../storage/database/database.ts";
import { DeltaFIFO } from "../../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../../storage/indexer/indexer.ts";
import { forgetResource, storedResources } from "../../../storage/indexer/stored-resources.ts";
import type { StoredObject } from "../../../storage/object.ts";
import { cacheMigrations } from "../../../storage/schema.ts";

const indices = { byNamespace: ({ metadata }: StoredObject) => [metadata.namespace ?? ""] };

function open(database: Database, resource: string): { fifo: DeltaFIFO<StoredObject>; indexer: Indexer<StoredObject> } {
  const indexer = new Indexer<StoredObject>({ database, resource, indices, decodedBytes: 10_000 });
  return { indexer, fifo: new DeltaFIFO({ database, resource, indexer, deltasPerObject: 16 }) };
}

test("a dropped resource leaves nothing behind, and the others stay unchanged", () => {
  const pragmas = {
    synchronous: "NORMAL",
    cacheKiB: 512,
    mmapMiB: 0,
    walAutocheckpointPages: 256,
    journalSizeLimitKiB: 1024,
  } as const;
  const database = Database.open({ file: ":memory:", migrations: cacheMigrations, pragmas });
  for (const resource of ["pods@pi-1", "pods@pi-2"]) {
    const { fifo } = open(database, resource);
    const object = (name: string): StoredObject => ({
      metadata: { name, namespace: "default", uid: `${resource}-${name}`, resourceVersion: "5" },
    });
    fifo.append([{ type: "Added", object: object("applied") }], "5");
    fifo.pop(10);
    fifo.append([{ type: "Added", object: object("waiting") }], "6");
  }

  forgetResource(database, "pods@pi-1");
  forgetResource(database, "never heard of");
  expect(storedResources(database)).toEqual(["pods@pi-2"]);
  for (const table of ["objects", "indices", "index_rows", "journal"]) {
    expect(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()).toEqual({ count: 1 });
  }

  const again = open(database, "pods@pi-1");
  expect([again.fifo.resourceVersion, again.fifo.hasSynced, again.fifo.depth]).toEqual([undefined, false, 0]);
  const other = open(database, "pods@pi-2");
  expect(other.fifo.pop(10).map(({ key }) => key)).toEqual(["default/waiting"]);
  expect([...other.indexer.byIndex("byNamespace", "default")]).toHaveLength(2);
});
