import { createHash } from "node:crypto";
import { closeSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";
import type { Instant } from "../base/clock.ts";

export interface ArchiveEntry {
  readonly name: string;
  /** Asked for when its turn has come; undefined: there is none. */
  text(): Promise<string | undefined>;
}

export interface Archive {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly entries: readonly string[];
}

/**
 * A .tar.gz, one entry after the other: no more than one of them is in memory. It gets its name when it is whole, and only
 * its owner may read it.
 */
export async function writeArchive(
  file: string,
  entries: readonly ArchiveEntry[],
  now: Instant,
  signal: AbortSignal,
): Promise<Archive> {
  const beside = `${file}.part`;
  rmSync(beside, { force: true });
  const handle = openSync(beside, "wx", 0o600);
  const hash = createHash("sha256");
  let bytes = 0;
  const written: string[] = [];
  const tar = pack();
  const whole = pipeline(tar, createGzip(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.length;
      // Unlike a single write, it writes all of it or throws.
      writeFileSync(handle, chunk);
    }
  });
  // Heard from the beginning: a disk that becomes full while an entry is still made must not end the process.
  const settled = whole.catch(() => {});
  try {
    try {
      const mtime = new Date(now.wall);
      for (const entry of entries) {
        signal.throwIfAborted();
        const text = await entry.text();
        if (tar.destroying) break;
        if (text === undefined) continue;
        tar.entry({ name: entry.name, mode: 0o600, mtime }, text);
        written.push(entry.name);
      }
      tar.finalize();
      await whole;
    } finally {
      tar.destroy();
      // Until then the file is written to.
      await settled;
      closeSync(handle);
    }
    renameSync(beside, file);
    return { file, bytes, sha256: hash.digest("hex"), entries: written };
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
}
