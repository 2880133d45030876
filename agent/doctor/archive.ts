import { createHash } from "node:crypto";
import { closeSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
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
  try {
    const tar = pack();
    const gzip = createGzip();
    const ended = new Promise<void>((resolve, reject) => {
      gzip.on("data", (chunk: Buffer) => {
        try {
          hash.update(chunk);
          bytes += chunk.length;
          writeSync(handle, chunk);
        } catch (error) {
          gzip.destroy(error instanceof Error ? error : new Error(String(error)));
        }
      });
      gzip.once("end", resolve);
      gzip.once("error", reject);
    });
    const packed = (async () => {
      for await (const chunk of tar) if (chunk instanceof Uint8Array) await fed(gzip, chunk);
      gzip.end();
    })();
    const mtime = new Date(now.wall);
    for (const entry of entries) {
      signal.throwIfAborted();
      const text = await entry.text();
      if (text === undefined) continue;
      tar.entry({ name: entry.name, mode: 0o600, mtime }, text);
      written.push(entry.name);
    }
    tar.finalize();
    await Promise.all([packed, ended]);
    closeSync(handle);
    renameSync(beside, file);
    return { file, bytes, sha256: hash.digest("hex"), entries: written };
  } catch (error) {
    closeSync(handle);
    rmSync(beside, { force: true });
    throw error;
  }
}

const fed = (gzip: ReturnType<typeof createGzip>, chunk: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    gzip.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
