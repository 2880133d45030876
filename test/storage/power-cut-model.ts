import type { DeltaFIFO } from "../../storage/delta-fifo/delta-fifo.ts";
import type { Delta, Key } from "../../storage/object.ts";
import { freeze, onlyBeat, type Store, store, type Thing } from "./object-store.ts";

/** A site whose whole history follows from a seed: what it was like at a version can be computed at any time. */
export class Site {
  readonly objects = new Map<string, Thing>();
  readonly #seed: number;
  #version = 0;

  constructor(seed: number, version = 0) {
    this.#seed = seed;
    while (this.#version < version) this.step();
  }

  get version(): string {
    return String(this.#version);
  }

  /** The next thing that happens: something appears, changes, beats, goes, or is made anew under its name. */
  step(): Delta<Thing> {
    const version = ++this.#version;
    const name = `thing-${String(mix(this.#seed, version, 1) % 40).padStart(2, "0")}`;
    const what = mix(this.#seed, version, 2) % 100;
    const known = this.objects.get(name);
    const metadata = { name, uid: known?.metadata.uid ?? `uid-${version}`, resourceVersion: String(version) };
    if (known === undefined) return this.#put("Added", { metadata, ...contents(this.#seed, version) });
    if (what < 40) return this.#put("Updated", { ...known, metadata, beat: version });
    if (what < 55) {
      this.objects.delete(name);
      return { type: "Deleted", object: freeze({ ...known, metadata }) };
    }
    const anew = what < 60 ? { ...metadata, uid: `uid-${version}` } : metadata;
    return this.#put("Updated", { metadata: anew, ...contents(this.#seed, version) });
  }

  #put(type: "Added" | "Updated", object: Thing): Delta<Thing> {
    this.objects.set(object.metadata.name, freeze(object));
    return { type, object };
  }
}

/** The cache as the agent opens it. */
export const cacheOf = (database: Store["database"]): Store =>
  store(database, { isQuiet: onlyBeat, deltasPerObject: 3, decodedBytes: 4000 });

/** Keeps a cache true to the site, in every way there is, for `rounds` rounds; goes on where the cache stands. */
export function follow({ fifo }: Store, seed: number, rounds: number): void {
  const site = new Site(seed, Number(fifo.resourceVersion ?? 0));
  for (let round = 0; round < rounds; round++) {
    const chance = mix(seed, Number(site.version), 3) % 20;
    if (!fifo.hasSynced || chance === 0) relist(fifo, site, chance % 2 === 0);
    else {
      const group = Array.from({ length: 1 + chance }, () => site.step());
      if (chance % 4 === 1 || fifo.appendAndPop(group, site.version) === undefined) fifo.append(group, site.version);
    }
    if (chance % 3 !== 0) fifo.pop(1 + chance);
    if (chance === 7) for (let key: Key | undefined = ""; key !== undefined; ) key = fifo.resync(key, 5);
    if (chance === 9) fifo.flush();
    while (!fifo.hasSynced) fifo.pop(8);
  }
}

/** What happened before the list was never told; the list says it. */
function relist(fifo: DeltaFIFO<Thing>, site: Site, popMeanwhile: boolean): void {
  for (let unseen = 0; unseen < 15; unseen++) site.step();
  const objects = [...site.objects.values()];
  const replacement = fifo.fill() ?? fifo.replace();
  for (let at = 0; at < objects.length; at += 10) {
    replacement.page(objects.slice(at, at + 10));
    if (popMeanwhile) fifo.pop(2);
  }
  if (popMeanwhile && replacement.stageDeletions()) fifo.pop(2);
  replacement.commit(site.version);
}

const contents = (seed: number, version: number): Omit<Thing, "metadata"> => ({
  board: `pi-${mix(seed, version, 4) % 5}`,
  beat: 0,
  tags: ["x".repeat(mix(seed, version, 5) % 3000)],
});

/** A number that follows from its arguments. */
export function mix(...parts: readonly number[]): number {
  let state = 0x9e3779b9;
  for (const part of parts) {
    state = Math.imul(state ^ part, 0x85ebca6b);
    state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
    state ^= state >>> 16;
  }
  return state >>> 0;
}
