import { dirname } from "node:path";
import type { BoardFiles } from "./board-files.ts";

/** The mount on which a folder lies, as this process sees it. */
export interface Mount {
  /** "179:2" */
  readonly device: string;
  readonly fileSystem: string;
  /** "/dev/mmcblk0p2", "overlay", "tmpfs" */
  readonly source: string;
  readonly isReadOnly: boolean;
  /** The file system is writable, but not through this mount of it. */
  readonly isOnlyHere: boolean;
}

/**
 * From /proc/self/mountinfo: the longest mount point above the folder, and the last of several on the same point. A
 * file system is read-only if this mount of it is, or if the kernel made it so after an error of the medium.
 *
 * A board that runs a hundred pods has a thousand mounts: the text is searched from its end instead of parsed.
 */
export function mountOf(files: BoardFiles, folder: string): Mount | undefined {
  const table = files.read("/proc/self/mountinfo") ?? "";
  // A link may lead to another mount: boards with a read-only root are often set up like this.
  for (let point = files.real(folder) ?? folder; ; point = dirname(point)) {
    const mount = lastMountAt(table, escaped(point));
    if (mount || point === dirname(point)) return mount;
  }
}

function lastMountAt(table: string, point: string): Mount | undefined {
  const wanted = ` ${point} `;
  for (let at = table.lastIndexOf(wanted); at >= 0; at = table.lastIndexOf(wanted, at - 1)) {
    const start = table.lastIndexOf("\n", at) + 1;
    // The mount point is the fifth field; the fourth may have the same text.
    if (table.slice(start, at).split(" ").length !== 4) continue;
    const end = table.indexOf("\n", at);
    const mount = mountFrom(table.slice(start, end < 0 ? undefined : end));
    if (mount) return mount;
  }
  return undefined;
}

function mountFrom(line: string): Mount | undefined {
  const fields = line.split(" ");
  const separator = fields.indexOf("-");
  const [, , device, , , options] = fields;
  const [fileSystem, source, superOptions] = separator < 0 ? [] : fields.slice(separator + 1);
  if (device === undefined || options === undefined || fileSystem === undefined) return undefined;
  const isReadOnlyHere = isReadOnlyIn(options);
  const isReadOnlyItself = isReadOnlyIn(superOptions ?? "");
  return {
    ...{ device, fileSystem, source: source ?? "" },
    isReadOnly: isReadOnlyHere || isReadOnlyItself,
    isOnlyHere: isReadOnlyHere && !isReadOnlyItself,
  };
}

/** From Linux 6.15 on ext4 reports "emergency_ro" after an error: access(2) and statfs(2) still show it as writable. */
const isReadOnlyIn = (list: string): boolean => list.split(",").some((one) => one === "ro" || one === "emergency_ro");

/** proc(5) escapes blanks in paths in octal. */
const escaped = (path: string): string =>
  path.replace(/[ \t\n\\]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, "0")}`);
