import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Architecture } from "../../packaging/architectures.ts";
import { buildPackage } from "../../packaging/build-package.ts";
import { releaseDate } from "../../packaging/release-date.ts";

const root = path.resolve(import.meta.dirname, "../..");

/** The package of this project for an architecture, packed quickly: 3 s instead of one to three minutes. */
export async function quickPackage(architecture: Architecture, out: string): Promise<string> {
  const released = await releaseDate(root, process.env);
  return buildPackage({ root, architecture, out, released, compression: "gzip", say: () => undefined });
}

/** The same package with another version, and with changes to its content. */
export function asVersion(file: string, version: string, change: (folder: string) => void = () => undefined): string {
  const folder = `${file}.${version}`;
  execFileSync("dpkg-deb", ["--raw-extract", file, folder]);
  const control = path.join(folder, "DEBIAN/control");
  writeFileSync(control, readFileSync(control, "utf8").replace(/^Version: .*$/m, `Version: ${version}`));
  change(folder);
  const changed = path.join(path.dirname(file), `siteward_${version}.deb`);
  execFileSync("dpkg-deb", ["--root-owner-group", "-Zgzip", "-z1", "--build", folder, changed], { stdio: "ignore" });
  rmSync(folder, { recursive: true });
  return changed;
}

/** Two copies of the parts of the project that a package is made from; npm's packages are links to the same files. */
export function copiesOfProject(one: string, other: string): readonly [string, string] {
  for (const name of sources) cpSync(path.join(root, name), path.join(one, name), { recursive: true });
  execFileSync("cp", ["-al", realpathSync(path.join(root, "node_modules")), one]);
  mkdirSync(other, { recursive: true });
  execFileSync("cp", ["-al", `${one}/.`, other]);
  return [one, other];
}

const sources = [
  ...["agent", "simulator", "storage", "packaging", "systemd", "firmware-profiles", "docs"],
  ...["package.json", "package-lock.json", "tsconfig.json", "CHANGELOG.md"],
];
