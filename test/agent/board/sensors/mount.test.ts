import { expect, test } from "vitest";
import { mountOf } from "../../../../agent/board/sensors/mount.ts";

const card = "21 1 179:2 / / ro,noatime - ext4 /dev/mmcblk0p2 ro";
const data = "30 21 259:1 / /data rw,noatime - ext4 /dev/nvme0n1p1 rw";

const filesWith = (table: readonly string[], links: Readonly<Record<string, string>> = {}) => ({
  read: (file: string) => (file === "/proc/self/mountinfo" ? `${table.join("\n")}\n` : undefined),
  names: () => [],
  real: (path: string) => links[path],
  freeBytes: () => undefined,
  isReadOnly: () => false,
});

test("a folder behind a link is judged by the mount of the link's target: the root may be read-only on purpose", () => {
  const files = filesWith([card, data], { "/var/lib/siteward": "/data/siteward" });
  expect(mountOf(files, "/var/lib/siteward")).toMatchObject({ source: "/dev/nvme0n1p1", isReadOnly: false });
  expect(mountOf(files, "/var/lib/other")).toMatchObject({ source: "/dev/mmcblk0p2", isReadOnly: true });
});

test.each<[what: string, options: string, own: string, isReadOnly: boolean, isOnlyHere: boolean]>([
  ["a writable file system", "rw,noatime", "rw", false, false],
  ["a file system that the kernel made read-only", "rw,noatime", "ro,errors=remount-ro", true, false],
  ["a file system that failed under a newer kernel", "rw,noatime", "rw,errors=remount-ro,emergency_ro", true, false],
  ["a file system that was remounted by hand", "ro,noatime", "ro", true, false],
  ["a file system whose repair the service does not see yet", "ro,noatime", "rw", true, true],
])("the mount state of %s is recognised", (_, options, own, isReadOnly, isOnlyHere) => {
  const files = filesWith([`21 1 179:2 / / ${options} - ext4 /dev/mmcblk0p2 ${own}`]);
  expect(mountOf(files, "/var/lib/siteward")).toMatchObject({ isReadOnly, isOnlyHere });
});
