import { createHash } from "node:crypto";
import type { ArchitectureName } from "./architectures.ts";

export const maintainer = "Siteward maintainers <maintainers@siteward.dev>";

/**
 * The binary of better-sqlite3 sets the floor for both libraries, the oldest Jetson Linux that has them (JetPack 6, Ubuntu
 * 22.04) that for systemd. What is Essential on Debian, perl-base among it, is not named.
 */
const dependencies = [
  "init-system-helpers (>= 1.54~)",
  "libc6 (>= 2.34)",
  "libgcc-s1 (>= 3.0)",
  "libstdc++6 (>= 11)",
  "systemd (>= 249)",
];

const description = `site controller for the boards of a Kubernetes edge site
 One small agent on every board. The agents of a site elect a leader; the
 leader mirrors what it needs from the API server, judges which boards are
 lost and which are only out of reach, and does for the site what
 kube-controller-manager does for a cluster.
 .
 This package brings the Node.js runtime that it needs along.`;

export interface ControlOptions {
  readonly version: string;
  readonly architecture: ArchitectureName;
  /** In bytes. */
  readonly installed: number;
}

export function controlFile({ version, architecture, installed }: ControlOptions): string {
  const fields = {
    Package: "siteward",
    Version: version,
    Architecture: architecture,
    Maintainer: maintainer,
    "Installed-Size": Math.ceil(installed / 1024),
    Depends: dependencies.join(", "),
    Recommends: "ca-certificates",
    Section: "admin",
    Priority: "optional",
    Description: description,
  };
  return `${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n")}\n`;
}

/** By these, `dpkg --verify` finds what a failing card has changed. */
export function md5sums(files: readonly { readonly path: string; readonly bytes: Uint8Array }[]): string {
  return files
    .map(({ path, bytes }) => `${createHash("md5").update(bytes).digest("hex")}  ${path}\n`)
    .sort((a, b) => (a.slice(34) < b.slice(34) ? -1 : 1))
    .join("");
}
