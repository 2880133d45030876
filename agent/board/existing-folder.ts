import { existsSync } from "node:fs";
import { dirname } from "node:path";

/** The folder if it exists, otherwise its nearest ancestor that does; undefined if there is none. */
export function existingFolder(folder: string): string | undefined {
  if (existsSync(folder)) return folder;
  const above = dirname(folder);
  return above === folder ? undefined : existingFolder(above);
}
