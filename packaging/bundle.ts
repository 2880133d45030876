import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { buildProgram } from "./program.ts";

/** The name by which a package's bundle imports the SQLite binding; its package.json maps it to a file. */
export const sqliteImport = "#better-sqlite3";

export interface Bundle {
  readonly files: readonly string[];
  /** The folders of the npm packages whose code is in the bundle, relative to the project. */
  readonly packages: readonly string[];
}

/**
 * Builds the program like `npm run build`, but into `outdir`, and with `sqliteImport`, because an installed package has
 * no node_modules.
 */
export async function bundle(root: string, outdir: string): Promise<Bundle> {
  const sources = await buildProgram({ root, outdir, sqlite: sqliteImport });
  // The interpreter line is removed, because the package starts the program in another way, and lintian expects a
  // script with such a line to be executable.
  const main = path.join(outdir, "main.js");
  writeFileSync(main, readFileSync(main, "utf8").replace(/^#!.*\n/, ""));
  const folders = sources.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return { files: readdirSync(outdir).sort(), packages: [...new Set(folders)].sort() };
}
