import { statSync } from "node:fs";
import type { Compression } from "./deb.ts";
import { call, inMiB } from "./tools.ts";

/** Room for the next versions of Node, and not for a second copy of anything. */
const mostPacked: Readonly<Record<Compression, number>> = { xz: 34 * 2 ** 20, gzip: 52 * 2 ** 20 };
const mostInstalled = 120 * 2 ** 20;

export interface Member {
  /** As `ls -l` writes it: "-rw-r--r--". */
  readonly mode: string;
  readonly owner: string;
  readonly size: number;
  /** Below the root, without a slash before it. */
  readonly path: string;
}

/** What a package holds, as dpkg-deb lists it. */
export async function membersOf(file: string): Promise<readonly Member[]> {
  const lines = (await call("dpkg-deb", ["--contents", file])).trimEnd().split("\n");
  return lines.map((line) => {
    const [mode = "", owner = "", size = "", , , ...name] = line.split(/\s+/);
    return { mode, owner, size: Number(size), path: name.join(" ").replace(/^\.\//, "") };
  });
}

/** What must not be in a package; nothing: it may go out. */
export function problemsOf(members: readonly Member[], packed: number, compression: Compression): readonly string[] {
  const most = mostPacked[compression];
  const installed = members.reduce((sum, { size }) => sum + size, 0);
  return [
    ...members.flatMap((member) =>
      rules.filter(({ holds }) => holds(member)).map(({ what }) => `${member.path}: ${what}`),
    ),
    ...(packed > most ? [`it has ${inMiB(packed)}, more than ${inMiB(most)}`] : []),
    ...(installed > mostInstalled ? [`installed it has ${inMiB(installed)}, more than ${inMiB(mostInstalled)}`] : []),
  ];
}

const rules: readonly { readonly what: string; holds(member: Member): boolean }[] = [
  { what: "part of a node_modules folder", holds: ({ path }) => /(^|\/)node_modules(\/|$)/.test(path) },
  { what: "a source map", holds: ({ path }) => path.endsWith(".map") },
  { what: "TypeScript", holds: ({ path }) => path.endsWith(".ts") },
  { what: "anybody may write it", holds: ({ mode }) => mode[8] === "w" && !mode.startsWith("l") },
  { what: "runs as its owner or group", holds: ({ mode }) => /s/i.test(mode) },
  { what: "does not belong to root", holds: ({ owner }) => owner !== "root/root" },
  { what: "credentials", holds: ({ path }) => /(^|\/)credentials\/.|\.(pem|key|crt)$|(^|\/)kubeconfig$/.test(path) },
];

/** Throws with everything that is wrong. */
export async function pass(file: string, compression: Compression): Promise<void> {
  const problems = problemsOf(await membersOf(file), statSync(file).size, compression);
  if (problems.length > 0) throw new Error(`the package must not go out:\n  ${problems.join("\n  ")}`);
}
