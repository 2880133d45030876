import type { SeededRandom } from "../support/seeded-random.ts";
import type { Deed, Sync, Write } from "./recorded-writes.ts";

/** The outcome for blocks that were written but not synced at the power cut. */
export const fates = ["none", "all", "prefix", "some", "noise"] as const;
export type Fate = (typeof fates)[number];

type Pending = Exclude<Deed, Sync>;

interface File {
  /** The synced content; undefined if the name is not in the folder. */
  synced: Buffer | undefined;
  pending: Pending[];
}

/** The smallest unit that a disk writes atomically. */
const block = 512;

/**
 * A disk that keeps synced data only: later blocks may be stored or not, in any order, and grown files may contain noise. As
 * on Linux file systems, a sync of a file also keeps its name; a removed name may reappear until its folder is synced.
 */
export class Disk {
  readonly #files = new Map<string, File>();

  apply(deed: Deed): void {
    if (deed.do === "sync" && deed.file === "") {
      for (const file of this.#files.values()) if (file.pending.some(({ do: does }) => does === "unlink")) settle(file);
      return;
    }
    const file = this.#files.get(deed.file) ?? { synced: undefined, pending: [] };
    this.#files.set(deed.file, file);
    if (deed.do === "sync") settle(file);
    else file.pending.push(deed);
  }

  /** The number of operations that could still be lost. */
  get pending(): number {
    return [...this.#files.values()].reduce((sum, { pending }) => sum + pending.length, 0);
  }

  /** A possible state of the files after a cut at this moment. */
  after(fate: Fate, random: SeededRandom): ReadonlyMap<string, Buffer> {
    const found = new Map<string, Buffer>();
    for (const [name, file] of this.#files) {
      const left = remains(file, fate, random);
      if (left !== undefined) found.set(name, left);
    }
    return found;
  }
}

function settle(file: File): void {
  file.synced = file.pending.reduce<Buffer | undefined>((bytes, deed) => applied(bytes, deed), file.synced);
  file.pending = [];
}

function remains({ synced, pending }: File, fate: Fate, random: SeededRandom): Buffer | undefined {
  switch (fate) {
    case "none":
      return synced;
    case "all":
      return pending.reduce<Buffer | undefined>((bytes, deed) => applied(bytes, deed), synced);
    case "prefix":
      return prefix(synced, pending, random);
    case "some":
    case "noise":
      return some(synced, pending, random, fate === "noise");
  }
}

/** The operations up to one of them, and the first blocks of a write. */
function prefix(synced: Buffer | undefined, pending: readonly Pending[], random: SeededRandom): Buffer | undefined {
  const upTo = random.integer(pending.length + 1);
  const whole = pending.slice(0, upTo).reduce<Buffer | undefined>((bytes, deed) => applied(bytes, deed), synced);
  const next = pending[upTo];
  if (next?.do !== "write") return whole;
  const kept = block * random.integer(Math.ceil(next.bytes.length / block));
  return kept === 0 ? whole : applied(whole, { ...next, bytes: next.bytes.subarray(0, kept) });
}

function some(
  synced: Buffer | undefined,
  pending: readonly Pending[],
  random: SeededRandom,
  noise: boolean,
): Buffer | undefined {
  let bytes = synced;
  for (const deed of pending) {
    if (deed.do !== "write") {
      if (random.integer(2) === 0) bytes = applied(bytes, deed);
      continue;
    }
    for (const piece of blocksOf(deed)) {
      if (random.integer(2) === 0) bytes = applied(bytes, piece);
      else if (noise && piece.offset >= (synced?.length ?? 0))
        bytes = applied(bytes, { ...piece, bytes: noiseOf(piece.bytes.length, random) });
    }
  }
  return bytes;
}

/** Splits a write at the disk's block boundaries. */
function* blocksOf(write: Write): Generator<Write> {
  for (let at = 0; at < write.bytes.length; ) {
    const length = Math.min(block - ((write.offset + at) % block), write.bytes.length - at);
    yield { ...write, offset: write.offset + at, bytes: write.bytes.subarray(at, at + length) };
    at += length;
  }
}

function applied(before: Buffer | undefined, deed: Pending): Buffer | undefined {
  if (deed.do === "unlink") return undefined;
  const bytes = before ?? Buffer.alloc(0);
  if (deed.do === "truncate") return resized(bytes, deed.length);
  const grown = resized(bytes, Math.max(bytes.length, deed.offset + deed.bytes.length));
  deed.bytes.copy(grown, deed.offset);
  return grown;
}

/** Always a copy: earlier synced content stays unchanged. */
function resized(bytes: Buffer, length: number): Buffer {
  const other = Buffer.alloc(length);
  bytes.copy(other);
  return other;
}

const noiseOf = (length: number, random: SeededRandom): Buffer =>
  Buffer.alloc(length, Buffer.from([random.integer(256), random.integer(256), random.integer(256)]));
