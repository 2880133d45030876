import { closeSync, constants, lstatSync, openSync, readSync, statSync } from "node:fs";

/** Maximum size of a file, in bytes, a hundred times the size of a file with every setting and its description. */
const maxFileBytes = 512 * 1024;

/** Minimum size of a read, in bytes: a few reads are enough for a file that does not report its size. */
const minRead = 4096;

/** The text of a file or, as a predicate, why it cannot be read: "is a folder, not a file". `largest`: in bytes. */
export function readText(
  file: string,
  largest = maxFileBytes,
): { readonly text: string } | { readonly problem: string } {
  try {
    const found = statSync(file);
    if (found.isDirectory()) return { problem: "is a folder, not a file" };
    if (!found.isFile()) return { problem: "is not a regular file" };
    if (found.size > largest) return { problem: `is too large: ${found.size} bytes of at most ${largest}` };
    const bytes = readBytes(file, { expected: found.size, largest });
    if (bytes === undefined) return { problem: `is too large: more than ${largest} bytes` };
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    return { problem: inWords(error) };
  }
}

/**
 * The bytes of a file; undefined if there are more than `largest`. Files of /proc are regular files of size 0,
 * regardless of their content. Opened with O_NONBLOCK, because reading a file such as /proc/kmsg would otherwise block
 * for ever.
 */
export function readBytes(
  file: string,
  { expected, largest }: { readonly expected: number; readonly largest: number },
): Buffer | undefined {
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const pieces: Uint8Array[] = [];
    for (let length = 0; length <= largest; ) {
      const piece = Buffer.allocUnsafe(Math.max(expected + 1, minRead));
      const read = readSync(handle, piece);
      if (read === 0) return Buffer.concat(pieces);
      pieces.push(piece.subarray(0, read));
      length += read;
    }
    return undefined;
  } finally {
    closeSync(handle);
  }
}

export const noPermission = "cannot be read: no permission";

/** Why a file could not be read or listed, as a predicate: "does not exist". */
export function inWords(error: unknown): string {
  switch (codeOf(error)) {
    case "ENOENT":
      return "does not exist";
    case "EACCES":
    case "EPERM":
      return `${noPermission}; the agent's user must be allowed to read it`;
    case "ERR_ENCODING_INVALID_ENCODED_DATA":
      return "is not text in UTF-8";
    default:
      return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined;

/** True only if the file certainly does not exist. False if this user lacks the permission to find out. */
export function isMissing(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    return codeOf(error) === "ENOTDIR";
  }
}
