import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** What an npm package says of itself; its folder must be there. */
export function manifestIn(folder: string): Manifest {
  const file = path.join(folder, "package.json");
  if (!existsSync(file)) throw new Error(`${folder} holds no npm package: npm ci puts it there`);
  return JSON.parse(readFileSync(file, "utf8")) as Manifest;
}
