import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import Sqlite from "better-sqlite3";
import { bundle } from "./bundle.ts";
import { manifestIn } from "./npm-package.ts";
import type { Module } from "./third-party.ts";

/** The npm packages that are compiled into the binary of the SQLite binding. */
export const inBinding: readonly string[] = ["node_modules/better-sqlite3", "node_modules/node-addon-api"];

/** All third-party software in the package: in the bundle, in the SQLite binding, and Node.js. */
export async function shippedModules(root: string): Promise<readonly Module[]> {
  const modules = [...(await bundled(root)), ...inBinding].map((folder) => {
    const { name, version, license = "none" } = manifestIn(path.join(root, folder));
    return { name, version, license };
  });
  const nodes = [...new Set(nodeVersions(root))].map((version) => ({ name: "Node.js", version, license: "MIT" }));
  return [...modules, { name: "SQLite", version: sqliteVersion(), license: "blessing" }, ...nodes].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
}

async function bundled(root: string): Promise<readonly string[]> {
  const work = mkdtempSync(path.join(os.tmpdir(), "siteward-third-party-"));
  try {
    return (await bundle(root, path.join(work, "dist"))).packages;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The versions of Node that the lock file pins, one for each architecture. */
function nodeVersions(root: string): readonly string[] {
  const { packages } = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly version: string }>>;
  };
  return ["x64", "arm64"].map((name) => packages[`node_modules/node-linux-${name}`]?.version ?? "none");
}

function sqliteVersion(): string {
  const database = new Sqlite(":memory:", { timeout: 0 });
  try {
    return (database.prepare("SELECT sqlite_version() AS version").get() as { readonly version: string }).version;
  } finally {
    database.close();
  }
}
