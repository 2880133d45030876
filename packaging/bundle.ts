import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { call } from "./tools.ts";

/** Under this name the bundle of a package imports the SQLite binding; package.json beside it says which file that is. */
export const sqliteImport = "#better-sqlite3";

export interface Bundle {
  readonly files: readonly string[];
  /** The folders of the npm packages whose code is in it, below the project. */
  readonly packages: readonly string[];
}

/**
 * What `npm run build` makes, in another folder and with another way to the SQLite binding: a package has no node_modules.
 * The options are those of that script, so that there is one list of them.
 */
export async function bundle(root: string, folder: string, metafile: string): Promise<Bundle> {
  const { scripts } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
    scripts: { build: string };
  };
  const [, command] = scripts.build.split("&& esbuild ");
  if (command === undefined) throw new Error("the build script of package.json does not end with esbuild");
  const options = command.split(" ").filter((word) => !/^--(outdir=|external:better-sqlite3$)/.test(word));
  await call(
    path.join(root, "node_modules/.bin/esbuild"),
    [
      ...options,
      `--outdir=${folder}`,
      `--alias:better-sqlite3=${sqliteImport}`,
      `--external:${sqliteImport}`,
      `--metafile=${metafile}`,
    ],
    { cwd: root },
  );
  // A package has its own way to start it; Debian takes a script that names an interpreter for one to be run.
  const main = path.join(folder, "main.js");
  writeFileSync(main, readFileSync(main, "utf8").replace(/^#!.*\n/, ""));
  const { inputs } = JSON.parse(readFileSync(metafile, "utf8")) as { inputs: Readonly<Record<string, unknown>> };
  const folders = Object.keys(inputs).flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return { files: readdirSync(folder).sort(), packages: [...new Set(folders)].sort() };
}
