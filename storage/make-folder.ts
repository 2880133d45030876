import { mkdirSync, statSync } from "node:fs";
import path from "node:path";

/**
 * Makes a folder and its missing parents, one by one. If the system reports ENOENT although the parent exists, as below
 * /proc, Node 24's mkdirSync with `recursive` would retry for ever.
 */
export function makeFolder(folder: string): void {
  try {
    makeOne(folder);
  } catch (error) {
    const above = path.dirname(folder);
    if (codeOf(error) !== "ENOENT" || above === folder) throw error;
    makeFolder(above);
    makeOne(folder);
  }
}

function makeOne(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(at: string): boolean {
  try {
    return statSync(at).isDirectory();
  } catch {
    return false;
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);
