import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Database } from "../../storage/database/database.ts";
import { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import { Indexer } from "../../storage/indexer/indexer.ts";
import type { Delta, StoredObject } from "../../storage/object.ts";
import { cacheMigrations } from "../../storage/schema.ts";
import { SeededChance } from "../support/load-chance.ts";
import { type Bench, type BenchContext, type Figure, median } from "./figure.ts";
import { decodedOthers, shippedPragmas } from "./shipped-cache.ts";

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
      using store = new Store(seed + run);
      store.list(objects, 1);
      const { rate, amplification } = store.burst(way, deltas);
      rates.push(rate);
      amplifications.push(amplification);
    }
    yield { what: `deltas of 1 KB, ${name}`, value: median(rates), unit: "/s", target: 20_000, better: "more" };
    yield {
      what: `bytes written per byte, ${name}`,
      value: median(amplifications),
      unit: "×",
      target: 4,
      note: "changes spread evenly over 10 000 objects",
    };
  }
  const longest: number[] = [];
  for (let run = 0; run < runs; run++) {
    using store = new Store(seed + run);
    longest.push(Math.max(store.list(objects, 1), store.list(objects, 2), store.list(0, 3)));
  }
  yield {
    what: "longest step of lists of 10 000 objects",
    value: median(longest),
    unit: "ms",
    target: 50,
    note: "all are new, all have changed, all are gone",
  };
}

type Way = (fifo: DeltaFIFO<Thing>, deltas: readonly Delta<Thing>[], resourceVersion: string) => void;

function takeAtOnce(fifo: DeltaFIFO<Thing>, deltas: readonly Delta<Thing>[], resourceVersion: string): void {
  if (fifo.appendAndPop(deltas, resourceVersion)?.length !== deltas.length) throw new Error("something waited");
}

function appendAndPop(fifo: DeltaFIFO<Thing>, deltas: readonly Delta<Thing>[], resourceVersion: string): void {
  fifo.append(deltas, resourceVersion);
  if (fifo.depth >= 1000) while (fifo.pop(64).length > 0);
}

/** A cache on disk, with the settings of an agent that has no configuration. */
class Store implements Disposable {
  readonly #dir = mkdtempSync(path.join(os.tmpdir(), "siteward-bench-"));
  readonly #database: Database;
  readonly #fifo: DeltaFIFO<Thing>;
  readonly #text: string;

  constructor(seed: number) {
    this.#text = new SeededChance(seed).text(1600);
    this.#database = Database.open({
      file: path.join(this.#dir, "cache.db"),
      migrations: cacheMigrations,
      pragmas: shippedPragmas,
    });
    const deps = { database: this.#database, resource: "things" };
    const indices = { byNode: ({ spec }: Thing) => [spec.nodeName] };
    const indexer = new Indexer<Thing>({ ...deps, indices, decodedBytes: decodedOthers });
    this.#fifo = new DeltaFIFO<Thing>({ ...deps, indexer, deltasPerObject: 16 });
  }

  /** Lists so many objects, and answers with the milliseconds of the longest step of that, to the last change told. */
  list(count: number, version: number): number {
    let longest = 0;
    const step = <R>(work: () => R): R => {
      const begun = performance.now();
      const result = work();
      longest = Math.max(longest, performance.now() - begun);
      return result;
    };
    const replacement = this.#fifo.fill() ?? this.#fifo.replace();
    for (let at = 0; at < count; at += 64) {
      const page = Array.from({ length: Math.min(64, count - at) }, (_, i) => this.#thing(at + i, version));
      step(() => replacement.page(page));
    }
    while (step(() => replacement.stageDeletions()));
    step(() => replacement.commit(String(version)));
    while (this.#fifo.depth > 0) step(() => this.#fifo.pop(64));
    return longest;
  }

  /** Changes what was listed, in an order that has nothing to do with that of the keys. */
  burst(way: Way, deltas: number): { readonly rate: number; readonly amplification: number } {
    this.#database.checkpoint();
    const made = Array.from({ length: deltas }, (_, i) => this.#thing((i * stride) % objects, i + 2));
    const before = written();
    const begun = performance.now();
    for (let i = 0; i < deltas; i += 64) {
      const group = made.slice(i, i + 64).map((object) => ({ type: "Updated", object }) as const);
      way(this.#fifo, group, String(i + 65));
    }
    while (this.#fifo.depth > 0) this.#fifo.pop(64);
    const seconds = (performance.now() - begun) / 1000;
    this.#database.checkpoint();
    const payload = made.reduce((sum, object) => sum + JSON.stringify(object).length, 0);
    return { rate: deltas / seconds, amplification: (written() - before) / payload };
  }

  [Symbol.dispose](): void {
    this.#database.close();
    rmSync(this.#dir, { recursive: true });
  }

  /** It stays on its board, as a bound pod does; its text is another one at each version. */
  #thing(at: number, version: number): Thing {
    const name = `thing-${at}`;
    const text = this.#text.slice(version % 800, (version % 800) + 800);
    const metadata = { name, namespace: "default", uid: `${name}-uid`, resourceVersion: String(version) };
    return { metadata, spec: { nodeName: `board-${at % 50}` }, text };
  }
}

/** What this process handed to the file system, in bytes. */
function written(): number {
  return Number(/^wchar: (\d+)/m.exec(readIo())?.[1] ?? 0);
}

function readIo(): string {
  return readFileSync("/proc/self/io", "utf8");
}
