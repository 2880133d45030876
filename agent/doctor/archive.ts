import { createHash } from "node:crypto";
import { closeSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { pack } from "tar-stream";
import type { Instant } from "../base/clock.ts";

export interface ArchiveEntry {
  readonly name: string;
  /** Produces the content just before it is written; undefined to leave the entry out. */
  text(): Promise<string | undefined>;
}

/** A written archive. */
export interface Archive {
  readonly file: string;
  /** Size of the file. */
  readonly bytes: number;
  readonly sha256: string;
  /** The names of the entries. */
  readonly entries: readonly string[];
}

/**
 * Writes a .tar.gz entry by entry, with only one entry in memory at a time. The file is renamed into place once it is
 * complete, and only its owner can read it.
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
      // Unlike a single write, writeFileSync writes all bytes or throws.
      writeFileSync(handle, chunk);
    }
  });
  // Attached immediately, so that an error while an entry is made does not become an unhandled rejection.
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
      // The pipeline writes to the file until it has ended, so the file is closed only after that.
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
