import { dirname } from "node:path";
import type { BoardFiles } from "./board-files.ts";

/** The mount on which a folder lies, in the mount namespace of this process. */
export interface Mount {
  /** Major and minor number: "179:2". */
  readonly device: string;
  /** The type: "ext4", "overlay". */
  readonly fileSystem: string;
  /** The mounted source: "/dev/mmcblk0p2", "overlay", "tmpfs". */
  readonly source: string;
  readonly isReadOnly: boolean;
  /** Whether only this mount is read-only; the file system itself may be writable through another mount. */
  readonly isOnlyHere: boolean;
}

/**
 * The mount with the longest mount point that contains the folder, from /proc/self/mountinfo. If several mounts share a
 * mount point, the last one is in effect. The folder is read-only if the mount is, or if the kernel made the file
 * system read-only after an error of the medium. A board that runs a hundred pods has a thousand mounts, so only
 * matching lines are parsed.
 */
export function mountOf(files: BoardFiles, folder: string): Mount | undefined {
  const table = files.read("/proc/self/mountinfo") ?? "";
  // Resolved, because a symbolic link may lead to another mount; boards with a read-only root often have such links.
  for (let point = files.real(folder) ?? folder; ; point = dirname(point)) {
    const mount = lastMountAt(table, escaped(point));
    if (mount || point === dirname(point)) return mount;
  }
}

function lastMountAt(table: string, point: string): Mount | undefined {
  const wanted = ` ${point} `;
  for (let at = table.lastIndexOf(wanted); at >= 0; at = table.lastIndexOf(wanted, at - 1)) {
    const start = table.lastIndexOf("\n", at) + 1;
    // The mount point is the fifth field; the fourth may be the same path.
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

/**
 * After an error, ext4 in Linux 6.15 and newer shows "emergency_ro" in this list of options; access(2) and statfs(2) do
 * not show it.
 */
const isReadOnlyIn = (list: string): boolean => list.split(",").some((one) => one === "ro" || one === "emergency_ro");

/** The form of a path in mountinfo: blanks and backslashes are octal escapes (proc(5)). */
const escaped = (path: string): string =>
  path.replace(/[ \t\n\\]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, "0")}`);
