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
}

/**
 * From /proc/self/mountinfo: the longest mount point above the folder, the last of those that hide each other. A file
 * system is read-only where this mount of it is, or where the kernel made it so after an error of the medium.
 *
 * A board that runs a hundred pods has a thousand mounts: the text is searched from its end, and not taken apart.
 */
export function mountOf(files: BoardFiles, folder: string): Mount | undefined {
  const table = files.read("/proc/self/mountinfo") ?? "";
  for (let point = folder; ; point = dirname(point)) {
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
  const isReadOnly = [options, superOptions ?? ""].some((list) => list.split(",").includes("ro"));
  return { device, fileSystem, source: source ?? "", isReadOnly };
}

/** Blanks in paths are octal there: proc(5). */
const escaped = (path: string): string =>
  path.replace(/[ \t\n\\]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, "0")}`);
