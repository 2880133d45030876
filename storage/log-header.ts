import { closeSync, openSync, readSync } from "node:fs";

/** "The WAL Header" of SQLite's file format: eight numbers of four bytes, the last two a checksum of the others. */
const size = 32;
const magic = 0x377f0682;

/**
 * True if the write-ahead log of a file is not a valid one: SQLite would treat it as empty and silently lose its
 * content. An empty log, or one never written to (zeros), is valid.
 */
export function hasForeignLog(file: string): boolean {
  const header = beginningOf(`${file}-wal`);
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

function beginningOf(path: string): Buffer {
  const bytes = Buffer.alloc(size);
  let handle: number;
  try {
    handle = openSync(path, "r");
  } catch {
    return Buffer.alloc(0);
  }
  try {
    return bytes.subarray(0, readSync(handle, bytes, 0, size, 0));
  } finally {
    closeSync(handle);
  }
}
