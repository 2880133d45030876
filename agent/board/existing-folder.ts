import { existsSync } from "node:fs";
import { dirname } from "node:path";

/** A folder, or what is there of the path to it: it may have to be made yet. Undefined: nothing is. */
export function existingFolder(folder: string): string | undefined {
  if (existsSync(folder)) return folder;
  const above = dirname(folder);
  return above === folder ? undefined : existingFolder(above);
}
