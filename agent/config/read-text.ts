import { lstatSync, readFileSync, statSync } from "node:fs";

/** A hundred times the size of a file with every setting and its sentence. */
const largestFile = 512 * 1024;

/** The text of a file that a person wrote, or in one sentence why it cannot be read. */
export function readText(
  file: string,
  largest = largestFile,
): { readonly text: string } | { readonly problem: string } {
  try {
    const found = statSync(file);
    if (found.isDirectory()) return { problem: "is a folder, not a file" };
    if (!found.isFile()) return { problem: "is not a regular file" };
    if (found.size > largest) return { problem: `is too large: ${found.size} bytes of at most ${largest}` };
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file)) };
  } catch (error) {
    return { problem: inWords(error) };
  }
}

export const noPermission = "cannot be read: no permission";

export function inWords(error: unknown): string {
  switch (codeOf(error)) {
    case "ENOENT":
      return "does not exist";
    case "EACCES":
    case "EPERM":
      return `${noPermission}; the agent's user must be able to read it`;
    case "ERR_ENCODING_INVALID_ENCODED_DATA":
      return "is not text in UTF-8";
    default:
      return `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined;

/** False also if that cannot be determined: a file that may not be read is not taken for absent. */
export function isMissing(file: string): boolean {
  try {
    return lstatSync(file, { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    return codeOf(error) === "ENOTDIR";
  }
}
