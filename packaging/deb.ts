import { chmodSync, copyFileSync, lutimesSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type ControlOptions, controlFile, md5sums } from "./control.ts";
import type { PackageFile } from "./package-file.ts";
import { call } from "./tools.ts";

export interface DebOptions extends Omit<ControlOptions, "installed"> {
  readonly files: readonly PackageFile[];
  /** The maintainer scripts, by name. */
  readonly scripts: Readonly<Record<string, string>>;
  /** The modification time of all files in the package. */
  readonly released: Date;
  /** An empty folder in which the file tree is built. */
  readonly stage: string;
  /** The folder that receives the package. */
  readonly out: string;
  readonly compression: Compression;
}

export type Compression = "xz" | "gzip";

/** The options of dpkg-deb for each compression: xz for releases, the fastest gzip for tests. */
const compressions: Readonly<Record<Compression, readonly string[]>> = {
  xz: ["-Zxz", "-z6"],
  gzip: ["-Zgzip", "-z1"],
};

/** Builds the package and returns its path. The same files and time give the same bytes on every machine. */
export async function deb(options: DebOptions): Promise<string> {
  const { files, scripts, released, stage, out, compression, version, architecture } = options;
  const contents = files.map((file) => ({ path: file.path, bytes: put(stage, file) }));
  const installed = contents.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const conffiles = files.filter(({ path: at }) => at.startsWith("etc/")).map(({ path: at }) => `/${at}\n`);
  const control = {
    control: controlFile({ version, architecture, installed }),
    conffiles: conffiles.join(""),
    md5sums: md5sums(contents.filter(({ path: at }) => !at.startsWith("etc/"))),
  };
  for (const [name, text] of Object.entries(control)) put(stage, { path: `DEBIAN/${name}`, mode: 0o644, text });
  for (const [name, text] of Object.entries(scripts)) put(stage, { path: `DEBIAN/${name}`, mode: 0o755, text });
  settle(stage, released);
  const file = path.join(out, `siteward_${version}_${architecture}.deb`);
  await call("dpkg-deb", ["--root-owner-group", ...compressions[compression], "--build", stage, file], {
    // The blocks of xz must not depend on the number of processors. Set as a variable, because older versions refuse it
    // as an option.
    env: { ...process.env, SOURCE_DATE_EPOCH: String(released.getTime() / 1000), DPKG_DEB_THREADS_MAX: "1" },
  });
  return file;
}

/** Writes the file below the folder and returns its content. */
function put(stage: string, file: PackageFile): Uint8Array {
  const at = path.join(stage, file.path);
  mkdirSync(path.dirname(at), { recursive: true });
  if ("from" in file) copyFileSync(file.from, at);
  else writeFileSync(at, "text" in file ? file.text : file.bytes);
  chmodSync(at, file.mode);
  return readFileSync(at);
}

/** Sets the mode of folders, independently of the umask, and the time of everything, innermost first. */
function settle(folder: string, time: Date): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const at = path.join(folder, entry.name);
    if (entry.isDirectory()) settle(at, time);
    else lutimesSync(at, time, time);
  }
  chmodSync(folder, 0o755);
  lutimesSync(folder, time, time);
}
