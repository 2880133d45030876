import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { type Architecture, ownArchitecture } from "./architectures.ts";
import { manifestIn } from "./npm-package.ts";
import { call, isThere } from "./tools.ts";

/** The Node binary for a package, with its origin. */
export interface NodeRuntime {
  readonly binary: string;
  readonly license: string;
  readonly version: string;
  /** Sizes in bytes, before and after stripping. */
  readonly full: number;
  readonly stripped: number;
  /** The tool that stripped the binary; undefined if no tool is installed, which makes the package larger. */
  readonly by: string | undefined;
}

interface Pinned {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

/**
 * Puts a stripped Node for this architecture into the folder `work`. It comes from `node_modules` if npm has installed it
 * there (on a machine with the same processor); otherwise npm fetches it, and the lock file's integrity is checked.
 */
export async function nodeRuntime(
  architecture: Architecture,
  { root, work }: { readonly root: string; readonly work: string },
): Promise<NodeRuntime> {
  const pinned = pinnedIn(root, `node-linux-${architecture.node}`);
  const installed = path.join(root, "node_modules", pinned.name);
  const source =
    existsSync(path.join(installed, "bin/node")) && manifestIn(installed).version === pinned.version
      ? installed
      : await fetched(pinned, root, work);
  const binary = path.join(work, "node");
  copyFileSync(path.join(source, "bin/node"), binary);
  const full = statSync(binary).size;
  const by = await strip(architecture, binary);
  return {
    binary,
    license: path.join(source, "LICENSE"),
    version: pinned.version,
    full,
    stripped: statSync(binary).size,
    by,
  };
}

/** The options of dh_strip for programs. */
const symbols = ["--strip-unneeded", "--remove-section=.comment"] as const;

/** Strips a binary. Returns the tool that was used; undefined if none is installed. */
export async function strip({ triplet, name }: Architecture, file: string): Promise<string | undefined> {
  const isOwn = name === ownArchitecture?.name;
  const tools: readonly (readonly [program: string, ...args: string[]])[] = [
    [`${triplet}-strip`, ...symbols],
    ...(isOwn ? [["strip", ...symbols] as const] : []),
    ["llvm-strip", ...symbols],
    [`${triplet}-objcopy`, ...symbols],
    ["llvm-objcopy", ...symbols],
  ];
  const tool = tools.find(([program]) => isThere(program));
  if (tool === undefined) return undefined;
  const [program, ...args] = tool;
  await call(program, [...args, file]);
  return program;
}

async function fetched({ name, version, integrity }: Pinned, root: string, work: string): Promise<string> {
  const folder = path.join(work, name);
  mkdirSync(folder, { recursive: true });
  await call("npm", ["pack", `${name}@${version}`, "--silent", "--prefer-offline", "--pack-destination", folder], {
    cwd: root,
  });
  const archive = path.join(folder, `${name}-${version}.tgz`);
  verify(archive, integrity);
  await call("tar", ["-xzf", archive, "-C", folder, "--no-same-owner", "package/bin/node", "package/LICENSE"]);
  return path.join(folder, "package");
}

/** Throws if the file does not have the integrity that the lock file pins. */
export function verify(file: string, integrity: string): void {
  const [algorithm = "", expected] = integrity.split(/-(.*)/s);
  const found = createHash(algorithm).update(readFileSync(file)).digest("base64");
  if (found !== expected) {
    throw new Error(`${path.basename(file)} does not match package-lock.json: ${algorithm}-${found}`);
  }
}

function pinnedIn(root: string, name: string): Pinned {
  const { packages } = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, { version: string; integrity: string }>>;
  };
  const entry = packages[`node_modules/${name}`];
  if (entry === undefined) throw new Error(`package-lock.json does not pin ${name}`);
  return { name, ...entry };
}
