import { readdirSync } from "node:fs";
import path from "node:path";
import type { Architecture } from "./architectures.ts";
import { manifestIn } from "./npm-package.ts";
import type { PackageFile } from "./package-file.ts";

/** The binding's entry, relative to /usr/lib/siteward. */
export const entryOf = ({ node }: Architecture): string => `./better-sqlite3/lib/linux-${node}.js`;

/**
 * better-sqlite3 for one architecture: its entry for that architecture, the modules that the entry loads, and the
 * binary.
 */
export function sqliteBinding(
  architecture: Architecture,
  { root, folder, binary }: { readonly root: string; readonly folder: string; readonly binary: string },
): readonly PackageFile[] {
  const source = path.join(root, "node_modules/better-sqlite3");
  const own = path.basename(entryOf(architecture));
  const scripts = readdirSync(path.join(source, "lib"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js") && (name === own || !isForOthers(name)))
    .map((name): PackageFile => ({ path: `${folder}/lib/${name}`, mode: 0o644, from: path.join(source, "lib", name) }));
  const { name, version } = manifestIn(source);
  const manifest = `${JSON.stringify({ name, version, type: "commonjs" })}\n`;
  return [
    ...scripts,
    { path: `${folder}/prebuilds/linux-${architecture.node}.node`, mode: 0o644, from: binary },
    // Needed because these scripts are CommonJS, in a folder below one whose scripts are ES modules.
    { path: `${folder}/package.json`, mode: 0o644, text: manifest },
  ];
}

/** The path at which npm installs the binary. */
export const prebuiltOf = (root: string, { node }: Architecture): string =>
  path.join(root, "node_modules/better-sqlite3/prebuilds", `linux-${node}.node`);

/** Whether a module is an entry for another machine, or the one that searches for a binary. */
const isForOthers = (name: string): boolean => /^(index|binding|(darwin|linux|linuxmusl|win32)-\w+)\.js$/.test(name);
