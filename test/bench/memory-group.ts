import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** What the two versions of cgroups call the same thing. */
interface Dialect {
  readonly limit: string;
  readonly swap: string;
  readonly peak: string;
  readonly kills: string;
}

const dialects = {
  1: {
    limit: "memory.limit_in_bytes",
    swap: "memory.memsw.limit_in_bytes",
    peak: "memory.max_usage_in_bytes",
    kills: "memory.oom_control",
  },
  2: { limit: "memory.max", swap: "memory.swap.max", peak: "memory.peak", kills: "memory.events" },
} as const satisfies Record<number, Dialect>;

interface Place {
  readonly folder: string;
  readonly version: 1 | 2;
}

/** A cgroup for processes of ours, with so much memory and no swap. It lies below our own, whose limits hold as well. */
export class MemoryGroup implements Disposable {
  readonly #folder: string;
  readonly #dialect: Dialect;

  private constructor(folder: string, dialect: Dialect) {
    this.#folder = folder;
    this.#dialect = dialect;
  }

  /** Why no such group can be made here; `undefined`: one can. */
  static missing(): string | undefined {
    const place = placeOfGroups();
    if (typeof place === "string") return place;
    try {
      MemoryGroup.make("probe", 1 << 26)[Symbol.dispose]();
      return undefined;
    } catch (error) {
      return `no cgroup with a limit can be made in ${place.folder}: ${error instanceof Error ? error.message : error}`;
    }
  }

  static make(name: string, limit: number): MemoryGroup {
    const place = placeOfGroups();
    if (typeof place === "string") throw new Error(place);
    const folder = path.join(place.folder, `siteward-${name}-${process.pid}`);
    const dialect = dialects[place.version];
    mkdirSync(folder);
    const group = new MemoryGroup(folder, dialect);
    try {
      writeFileSync(path.join(folder, dialect.limit), String(limit));
      const swap = path.join(folder, dialect.swap);
      // Version 1 limits memory and swap together.
      if (existsSync(swap)) writeFileSync(swap, String(place.version === 1 ? limit : 0));
      return group;
    } catch (error) {
      group[Symbol.dispose]();
      throw error;
    }
  }

  /** Put before a command, this runs it in the group from its first page on, with another file as its program. */
  with(program: string): readonly string[] {
    const enter = 'echo $$ > "$0" && program=$1 && shift 2 && exec "$program" "$@"';
    return ["/bin/sh", "-c", enter, path.join(this.#folder, "cgroup.procs"), program];
  }

  /** Megabytes, and how many processes were killed because there were no more. */
  figures(): { readonly peak: number; readonly readAgain: number; readonly kills: number } {
    const pages = field(this.#read("memory.stat"), "workingset_refault_file");
    return {
      peak: Number(this.#read(this.#dialect.peak)) / 2 ** 20,
      readAgain: (pages * 4096) / 2 ** 20,
      kills: field(this.#read(this.#dialect.kills), "oom_kill"),
    };
  }

  /** Once no process is in it. */
  [Symbol.dispose](): void {
    rmdirSync(this.#folder);
  }

  #read(name: string): string {
    return readFileSync(path.join(this.#folder, name), "utf8");
  }
}

/** Where this process may make groups: below its own (version 1), or below the nearest one that hands memory down. */
function placeOfGroups(): Place | string {
  const own = readFileSync("/proc/self/cgroup", "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(":"));
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split(" "));
  const old = own.find(([, controllers = ""]) => controllers.split(",").includes("memory"));
  if (old) {
    const mount = mounts.find(([, , type, options = ""]) => type === "cgroup" && options.split(",").includes("memory"));
    if (!mount) return "the memory controller (cgroups of version 1) is not mounted here";
    return { folder: path.join(mount[1] ?? "", old[2] ?? ""), version: 1 };
  }
  const root = mounts.find(([, , type]) => type === "cgroup2")?.[1];
  if (root === undefined) return "no cgroups are mounted here";
  for (let folder = path.join(root, own.find(([id]) => id === "0")?.[2] ?? ""); ; folder = path.dirname(folder)) {
    const handedDown = path.join(folder, "cgroup.subtree_control");
    if (existsSync(handedDown) && readFileSync(handedDown, "utf8").trim().split(" ").includes("memory"))
      return { folder, version: 2 };
    if (folder === root || folder === path.dirname(folder)) return `no cgroup up to ${root} hands memory limits down`;
  }
}

const field = (text: string, name: string): number => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
