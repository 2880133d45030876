import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** The manifest of an installed npm package. Throws if its folder has none. */
export function manifestIn(folder: string): Manifest {
  const file = path.join(folder, "package.json");
  if (!existsSync(file)) throw new Error(`${folder} contains no npm package: run npm ci`);
  return JSON.parse(readFileSync(file, "utf8")) as Manifest;
}
