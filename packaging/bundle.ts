import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { buildProgram } from "./program.ts";

/** Under this name the bundle of a package imports the SQLite binding; package.json beside it says which file that is. */
export const sqliteImport = "#better-sqlite3";

export interface Bundle {
  readonly files: readonly string[];
  /** The folders of the npm packages whose code is in it, below the project. */
  readonly packages: readonly string[];
}

/** What `npm run build` makes, in another folder and with another way to the SQLite binding: a package has no node_modules. */
export async function bundle(root: string, outdir: string): Promise<Bundle> {
  const sources = await buildProgram({ root, outdir, sqlite: sqliteImport });
  // A package has its own way to start it; Debian takes a script that names an interpreter for one to be run.
  const main = path.join(outdir, "main.js");
  writeFileSync(main, readFileSync(main, "utf8").replace(/^#!.*\n/, ""));
  const folders = sources.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return { files: readdirSync(outdir).sort(), packages: [...new Set(folders)].sort() };
}
