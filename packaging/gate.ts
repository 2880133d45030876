import { statSync } from "node:fs";
import type { Compression } from "./deb.ts";
import { call, inMiB } from "./tools.ts";

/** Maximum sizes. They leave room for later versions of Node, but not for a second copy of anything. */
const mostPacked: Readonly<Record<Compression, number>> = { xz: 34 * 2 ** 20, gzip: 52 * 2 ** 20 };
const mostInstalled = 120 * 2 ** 20;

export interface Member {
  /** The mode as `ls -l` shows it: "-rw-r--r--". */
  readonly mode: string;
  readonly owner: string;
  readonly size: number;
  /** The path relative to the root, without a leading slash. */
  readonly path: string;
}

/** The contents of a package, as dpkg-deb lists them. */
export async function membersOf(file: string): Promise<readonly Member[]> {
  const lines = (await call("dpkg-deb", ["--contents", file])).trimEnd().split("\n");
  return lines.map((line) => {
    const [mode = "", owner = "", size = "", , , ...name] = line.split(/\s+/);
    return { mode, owner, size: Number(size), path: name.join(" ").replace(/^\.\//, "") };
  });
}

/** The reasons why a package must not be shipped; empty if there are none. */
export function problemsOf(members: readonly Member[], packed: number, compression: Compression): readonly string[] {
  const most = mostPacked[compression];
  const installed = members.reduce((sum, { size }) => sum + size, 0);
  return [
    ...members.flatMap((member) =>
      rules.filter(({ holds }) => holds(member)).map(({ what }) => `${member.path}: ${what}`),
    ),
    ...(packed > most ? [`the package takes ${inMiB(packed)}, more than ${inMiB(most)}`] : []),
    ...(installed > mostInstalled
      ? [`the installed files take ${inMiB(installed)}, more than ${inMiB(mostInstalled)}`]
      : []),
  ];
}

const rules: readonly { readonly what: string; holds(member: Member): boolean }[] = [
  { what: "part of a node_modules folder", holds: ({ path }) => /(^|\/)node_modules(\/|$)/.test(path) },
  { what: "a source map", holds: ({ path }) => path.endsWith(".map") },
  { what: "TypeScript", holds: ({ path }) => path.endsWith(".ts") },
  { what: "writable by all users", holds: ({ mode }) => mode[8] === "w" && !mode.startsWith("l") },
  { what: "setuid or setgid", holds: ({ mode }) => /s/i.test(mode) },
  { what: "not owned by root", holds: ({ owner }) => owner !== "root/root" },
  { what: "credentials", holds: ({ path }) => /(^|\/)credentials\/.|\.(pem|key|crt)$|(^|\/)kubeconfig$/.test(path) },
];

/** Throws an Error with all problems of a package that must not be shipped. */
export async function checkPackage(file: string, compression: Compression): Promise<void> {
  const problems = problemsOf(await membersOf(file), statSync(file).size, compression);
  if (problems.length > 0) throw new Error(`the package must not be shipped:\n  ${problems.join("\n  ")}`);
}
