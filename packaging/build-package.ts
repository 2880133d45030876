import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Architecture } from "./architectures.ts";
import { bundle, sqliteImport } from "./bundle.ts";
import { debianChangelog, debianVersion } from "./changelog.ts";
import { copyrightOf } from "./copyright.ts";
import { type Compression, deb } from "./deb.ts";
import { checkPackage } from "./gate.ts";
import { layout } from "./layout.ts";
import { nodeRuntime, strip } from "./node-runtime.ts";
import { manifestIn } from "./npm-package.ts";
import { prebuiltOf } from "./sqlite-binding.ts";
import { call, inMiB } from "./tools.ts";

export interface BuildOptions {
  /** The project's folder. */
  readonly root: string;
  readonly architecture: Architecture;
  readonly out: string;
  readonly released: Date;
  readonly compression?: Compression;
  /** Receives progress messages, one line each. */
  say(line: string): void;
}

/** Builds siteward_VERSION_ARCHITECTURE.deb and returns its path. */
export async function buildPackage(options: BuildOptions): Promise<string> {
  const { root, architecture, say } = options;
  const work = mkdtempSync(path.join(os.tmpdir(), "siteward-package-"));
  try {
    const node = await nodeRuntime(architecture, { root, work });
    const shrunk = node.by
      ? `, ${inMiB(node.stripped)} stripped by ${node.by}`
      : ", not stripped: no tool for that is installed";
    say(`Node ${node.version} for ${architecture.name}: ${inMiB(node.full)}${shrunk}`);
    const sqlite = path.join(work, "better_sqlite3.node");
    copyFileSync(prebuiltOf(root, architecture), sqlite);
    await strip(architecture, sqlite);
    const file = await assembled(options, work, { node, sqlite });
    await checkPackage(file, options.compression ?? "xz");
    const destination = path.join(options.out, path.basename(file));
    mkdirSync(options.out, { recursive: true });
    copyFileSync(file, destination);
    return destination;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function assembled(
  { root, architecture, released, say, compression = "xz" }: BuildOptions,
  work: string,
  binaries: { readonly node: { readonly binary: string; readonly license: string }; readonly sqlite: string },
): Promise<string> {
  const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
  const version = manifestIn(root).version;
  const folder = path.join(work, "dist");
  const { files, packages } = await bundle(root, folder);
  say(
    `program: ${files.length} files, ${inMiB(files.reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0))}`,
  );
  // Needed by the completion script, which lists the profiles by name.
  symlinkSync(path.join(root, "firmware-profiles"), path.join(work, "firmware-profiles"));
  // The bundle runs here with the project's own SQLite binding, because that of the package may be for another
  // processor.
  symlinkSync(path.join(root, "node_modules"), path.join(work, "node_modules"));
  writeFileSync(
    path.join(work, "package.json"),
    JSON.stringify({ type: "module", imports: { [sqliteImport]: "better-sqlite3" } }),
  );
  const siteward = (...args: readonly string[]): Promise<string> =>
    call(process.execPath, [path.join(folder, "main.js"), ...args]);
  const parts = {
    root,
    architecture,
    version,
    ...binaries,
    bundle: { folder, files },
    man: await siteward("man"),
    completion: await siteward("completion", "bash"),
    copyright: copyrightOf(root, packages),
    changelog: debianChangelog(read("CHANGELOG.md"), version, released),
  };
  const stage = path.join(work, "stage");
  mkdirSync(stage);
  say(`packing with ${compression}${compression === "xz" ? ", for a minute or two" : ""}`);
  return deb({
    files: layout(parts),
    scripts: Object.fromEntries(
      ["postinst", "prerm", "postrm"].map((name) => [name, read(`packaging/debian/${name}`)]),
    ),
    version: debianVersion(version),
    architecture: architecture.name,
    released,
    stage,
    out: work,
    compression,
  });
}
