import { closeSync, openSync, readSync } from "node:fs";
import { StorageError } from "../errors.ts";

/**
 * Size in bytes of the WAL header (https://www.sqlite.org/fileformat2.html#walformat): eight numbers of four bytes; the
 * last two are a checksum of the others.
 */
const size = 32;
const magic = 0x377f0682;

/**
 * True if the write-ahead log of a file has an invalid header, because of which SQLite would treat the log as empty and
 * silently lose its content. A log that is empty or has never been written to (all zeros) is valid. Throws a
 * StorageError of kind "io" if the log cannot be read.
 */
export function hasInvalidLog(file: string): boolean {
  const header = beginningOfLog(file);
  if (header.length === 0 || header.every((byte) => byte === 0)) return false;
  return header.length < size || !isHeader(header);
}

function isHeader(header: Buffer): boolean {
  const first = header.readUInt32BE(0);
  if (first !== magic && first !== magic + 1) return false;
  // The lowest bit gives the byte order of the checksum.
  const read = (at: number): number => (first === magic ? header.readUInt32LE(at) : header.readUInt32BE(at));
  let [a, b] = [0, 0];
  for (let at = 0; at < size - 8; at += 8) {
    a = (a + read(at) + b) >>> 0;
    b = (b + read(at + 4) + a) >>> 0;
  }
  return a === header.readUInt32BE(size - 8) && b === header.readUInt32BE(size - 4);
}

function beginningOfLog(file: string): Buffer {
  const bytes = Buffer.alloc(size);
  let handle: number;
  try {
    handle = openSync(`${file}-wal`, "r");
  } catch {
    return Buffer.alloc(0);
  }
  try {
    return bytes.subarray(0, readSync(handle, bytes, 0, size, 0));
  } catch (cause) {
    // Not "damaged", because the log may hold the newest facts, and a later attempt may be able to read them.
    throw new StorageError("io", { file, cause, disposable: false });
  } finally {
    closeSync(handle);
  }
}
