import { basename, dirname } from "node:path";
import { type BoardFiles, numberIn, wordIn } from "./board-files.ts";
import { type Mount, mountOf } from "./mount.ts";
import type { StorageReading, WearReading } from "./readings.ts";

/** File systems whose content is in memory and is lost when the board restarts. */
const inMemory: readonly string[] = ["tmpfs", "ramfs", "overlay", "zram"];

/** The storage of a folder. `mount`: the folder's mount, if known; otherwise the long mount table is searched. */
export function storageReading(
  files: BoardFiles,
  folder: string,
  mount: Mount | undefined = mountOf(files, folder),
): StorageReading {
  const disk = mount && diskOf(files, mount);
  const isVolatile = mount !== undefined && (inMemory.includes(mount.fileSystem) || disk?.startsWith("zram") === true);
  return {
    device: disk,
    kind: isVolatile ? "volatile" : disk === undefined ? "unknown" : kindOf(files, disk),
    fileSystem: mount?.fileSystem,
    isVolatile,
    isReadOnly: mount?.isReadOnly === true || files.isReadOnly(folder),
    freeBytes: files.freeBytes(folder),
    wear: disk === undefined || isVolatile ? undefined : wearOf(files, disk),
  };
}

/** The disk behind a mount, found by device number or, for btrfs, whose numbers belong to no device, by its source. */
function diskOf(files: BoardFiles, { device, source }: Mount): string | undefined {
  const byNumber = files.real(`/sys/dev/block/${device}`);
  const path =
    byNumber ?? (source.startsWith("/dev/") ? files.real(`/sys/class/block/${basename(source)}`) : undefined);
  return path === undefined ? undefined : wholeDisk(files, path, maxLayers);
}

/** Maximum number of layers between a volume and its partition, such as encryption on LVM. */
const maxLayers = 4;

function wholeDisk(files: BoardFiles, path: string, layers: number): string {
  if (files.read(`${path}/partition`) !== undefined) return basename(dirname(path));
  const [below] = files.names(`${path}/slaves`);
  const lower = below === undefined || layers === 0 ? undefined : files.real(`/sys/class/block/${below}`);
  return lower === undefined ? basename(path) : wholeDisk(files, lower, layers - 1);
}

function kindOf(files: BoardFiles, disk: string): StorageReading["kind"] {
  if (disk.startsWith("nvme")) return "nvme";
  if (disk.startsWith("mmcblk")) {
    const type = wordIn(files, `/sys/block/${disk}/device/type`);
    return type === "SD" ? "sd" : type === "MMC" ? "emmc" : "unknown";
  }
  const rotational = numberIn(files, `/sys/block/${disk}/queue/rotational`);
  return rotational === 1 ? "disk" : rotational === 0 ? "ssd" : "unknown";
}

/**
 * The wear of an eMMC from version 5.0 on (JESD84-B51). `life_time` holds two bytes, one for each kind of memory in the
 * device, in steps of 10 %: 0x01 means 0 to 10 % used, 0x0b more than the rated life, 0 unknown. The higher value is
 * used.
 */
function wearOf(files: BoardFiles, disk: string): WearReading | undefined {
  const device = `/sys/block/${disk}/device`;
  const steps = [...(wordIn(files, `${device}/life_time`) ?? "").matchAll(/\b0x([0-9a-f]{1,2})\b/gi)]
    .map(([, step]) => Number.parseInt(step ?? "", 16))
    .filter((step) => step >= 1 && step <= 0x0b);
  const reserves = { 1: "normal", 2: "warning", 3: "urgent" } as const;
  const [, mark] = /^0x0?([123])$/i.exec(wordIn(files, `${device}/pre_eol_info`) ?? "") ?? [];
  const reserve = mark === "1" || mark === "2" || mark === "3" ? reserves[mark] : undefined;
  if (steps.length === 0 && reserve === undefined) return undefined;
  return { usedPercent: steps.length > 0 ? Math.max(...steps) * 10 : undefined, reserve };
}
