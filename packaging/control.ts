import { createHash } from "node:crypto";
import type { ArchitectureName } from "./architectures.ts";

export const maintainer = "Siteward maintainers <maintainers@siteward.dev>";

/**
 * The binary of better-sqlite3 determines the minimum versions of the C and C++ libraries; the oldest Jetson Linux that
 * has these (JetPack 6, Ubuntu 22.04) determines the minimum version of systemd. Debian's essential packages, such as
 * perl-base, are not listed.
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
 leader caches the objects that it needs from the API server, decides which
 boards are lost and which are only unreachable, and does the work of
 kube-controller-manager for the site.
 .
 This package contains its own Node.js runtime.`;

export interface ControlOptions {
  readonly version: string;
  readonly architecture: ArchitectureName;
  /** Installed size in bytes. */
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

/** With these checksums `dpkg --verify` finds files that a failing card has damaged. */
export function md5sums(files: readonly { readonly path: string; readonly bytes: Uint8Array }[]): string {
  return files
    .map(({ path, bytes }) => `${createHash("md5").update(bytes).digest("hex")}  ${path}\n`)
    .sort((a, b) => (a.slice(34) < b.slice(34) ? -1 : 1))
    .join("");
}
