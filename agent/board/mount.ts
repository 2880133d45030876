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
  /** The file system takes changes, only not through this mount of it. */
  readonly isOnlyHere: boolean;
}

/**
 * From /proc/self/mountinfo: the longest mount point above the folder, the last of those that hide each other. A file
 * system is read-only where this mount of it is, or where the kernel made it so after an error of the medium.
 *
 * A board that runs a hundred pods has a thousand mounts: the text is searched from its end, and not taken apart.
 */
export function mountOf(files: BoardFiles, folder: string): Mount | undefined {
  const table = files.read("/proc/self/mountinfo") ?? "";
  // Behind a link it may lie somewhere else altogether: that is how boards with a read-only root are often set up.
  for (let point = files.real(folder) ?? folder; ; point = dirname(point)) {
    const mount = lastMountAt(table, escaped(point));
    if (mount || point === dirname(point)) return mount;
  }
}

function lastMountAt(table: string, point: string): Mount | undefined {
  const wanted = ` ${point} `;
  for (let at = table.lastIndexOf(wanted); at >= 0; at = table.lastIndexOf(wanted, at - 1)) {
    const start = table.lastIndexOf("\n", at) + 1;
    // The fifth field: the fourth may say the same.
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

/** From 6.15 on ext4 says "emergency_ro" after an error: to access(2) and statfs(2) such a file system is as good as ever. */
const isReadOnlyIn = (list: string): boolean => list.split(",").some((one) => one === "ro" || one === "emergency_ro");

/** Blanks in paths are octal there: proc(5). */
const escaped = (path: string): string =>
  path.replace(/[ \t\n\\]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, "0")}`);
