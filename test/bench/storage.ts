import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Database } from "../../storage/database.ts";
import { DeltaFIFO } from "../../storage/delta-fifo.ts";
import { Indexer } from "../../storage/indexer.ts";
import type { Delta, StoredObject } from "../../storage/object.ts";
import { cacheMigrations } from "../../storage/schema.ts";
import { SeededChance } from "../support/load-chance.ts";
import { type Bench, type BenchContext, type Figure, median } from "./figure.ts";

interface Thing extends StoredObject {
  readonly spec: { readonly nodeName: string };
  readonly text: string;
}

const objects = 10_000;
/** Has no divisor in common with that, so that all of them come once before one comes again. */
const stride = 7919;

/**
 * Deltas of 1 KB into the indexer and out as changes, on a file, in groups of 64: taken at once, as when nothing waits,
 * and through the journal, as in a backlog of a thousand.
 */
export const storage: Bench = {
  name: "storage",
  summary: "durable deltas per second in groups of 64, and what they write",
  kube: false,
  run: measure,
};

const ways = { "at once": takeAtOnce, "through the journal": appendAndPop } as const;

async function* measure({ seed, runs, quick }: BenchContext): AsyncGenerator<Figure> {
  const deltas = quick ? 20_000 : 100_000;
  for (const [name, way] of Object.entries(ways)) {
    const rates: number[] = [];
    const amplifications: number[] = [];
    for (let run = 0; run < runs; run++) {
      const dir = mkdtempSync(path.join(os.tmpdir(), "siteward-bench-"));
      try {
        const { rate, amplification } = burst(path.join(dir, "cache.db"), way, deltas, seed + run);
        rates.push(rate);
        amplifications.push(amplification);
      } finally {
        rmSync(dir, { recursive: true });
      }
    }
    yield { what: `deltas of 1 KB, ${name}`, value: median(rates), unit: "/s", target: 20_000, better: "more" };
    yield { what: `bytes written per byte, ${name}`, value: median(amplifications), unit: "×", target: 4 };
  }
}

type Way = (fifo: DeltaFIFO<Thing>, deltas: readonly Delta<Thing>[], resourceVersion: string) => void;

function takeAtOnce(fifo: DeltaFIFO<Thing>, deltas: readonly Delta<Thing>[], resourceVersion: string): void {
  if (fifo.take(deltas, resourceVersion)?.length !== deltas.length) throw new Error("something waited");
}

function appendAndPop(fifo: DeltaFIFO<Thing>, deltas: readonly Delta<Thing>[], resourceVersion: string): void {
  fifo.append(deltas, resourceVersion);
  if (fifo.depth >= 1000) while (fifo.pop(64).length > 0);
}

function burst(file: string, way: Way, deltas: number, seed: number): { rate: number; amplification: number } {
  const chance = new SeededChance(seed);
  const pragmas = {
    synchronous: "NORMAL",
    cacheKiB: 2048,
    mmapMiB: 0,
    walAutocheckpointPages: 1000,
    journalSizeLimitKiB: 4096,
  } as const;
  const database = Database.open({ file, migrations: cacheMigrations, pragmas });
  const indexer = new Indexer<Thing>({
    database,
    resource: "things",
    indices: { byNode: (thing) => [thing.spec.nodeName] },
    decodedBytes: 1 << 20,
  });
  const fifo = new DeltaFIFO<Thing>({ database, resource: "things", indexer, deltasPerObject: 16 });
  const text = chance.text(1600);
  // An object stays on its board, as a bound pod does.
  const thing = (at: number, version: number): Thing => ({
    metadata: {
      name: `thing-${at}`,
      namespace: "default",
      uid: `thing-${at}-uid`,
      resourceVersion: String(version),
    },
    spec: { nodeName: `board-${at % 50}` },
    text: text.slice(version % 800, (version % 800) + 800),
  });
  const replacement = fifo.replace();
  for (let at = 0; at < objects; at += 64) {
    replacement.page(Array.from({ length: Math.min(64, objects - at) }, (_, i) => thing(at + i, 1)));
  }
  replacement.commit("1");
  while (fifo.depth > 0) fifo.pop(64);
  database.checkpoint();
  // Which one changes next follows no order of keys.
  const made = Array.from({ length: deltas }, (_, i) => thing((i * stride) % objects, i + 2));
  const before = written();
  const begun = performance.now();
  for (let i = 0; i < deltas; i += 64) {
    const group = made.slice(i, i + 64).map((object) => ({ type: "Updated", object }) as const);
    way(fifo, group, String(i + 65));
  }
  while (fifo.depth > 0) fifo.pop(64);
  const seconds = (performance.now() - begun) / 1000;
  database.close();
  const payload = made.reduce((sum, object) => sum + JSON.stringify(object).length, 0);
  return { rate: deltas / seconds, amplification: (written() - before) / payload };
}

/** What this process handed to the file system, in bytes. */
function written(): number {
  return Number(/^wchar: (\d+)/m.exec(readIo())?.[1] ?? 0);
}

function readIo(): string {
  return readFileSync("/proc/self/io", "utf8");
}
