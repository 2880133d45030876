import { deepStrictEqual as expectSame } from "node:assert/strict";
import { popAll, rowsOf, type Store, show, shown } from "./object-store.ts";
import { Site } from "./power-cut-model.ts";

/** What must be true of a cache that was cut off anywhere; also outside of a test runner. Returns its position. */
export function expectSound({ database, fifo, indexer }: Store, seed: number): number {
  const position = Number(fifo.resourceVersion ?? 0);
  expectSame({ ...database.prepare<object>("PRAGMA integrity_check").get() }, { integrity_check: "ok" });
  for (const table of ["objects", "journal"]) {
    const ahead = `SELECT count(*) AS count FROM ${table} WHERE CAST(version AS INTEGER) > ${position}`;
    expectSame({ ...database.prepare<object>(ahead).get() }, { count: 0 });
  }
  expectSame(rowsOf(database, "seen"), 0);
  popAll(fifo);
  expectSame(fifo.hasSynced, position > 0);
  const { objects } = new Site(seed, position);
  expectSame(shown(indexer.list()), [...objects.values()].map(show).sort());
  for (const stored of indexer.list()) expectSame(stored, objects.get(stored.metadata.name));
  for (let board = 0; board < 5; board++) {
    const there = [...objects.values()].filter((object) => object.board === `pi-${board}`);
    expectSame(shown(indexer.byIndex("board", `pi-${board}`)), there.map(show).sort());
  }
  return position;
}
