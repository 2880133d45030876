import { existsSync } from "node:fs";
import { dirname } from "node:path";

/** The folder, or its nearest ancestor that exists. Undefined: none does. */
export function existingFolder(folder: string): string | undefined {
  if (existsSync(folder)) return folder;
  const above = dirname(folder);
  return above === folder ? undefined : existingFolder(above);
}
