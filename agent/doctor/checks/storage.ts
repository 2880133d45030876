import { closeSync, fsyncSync, mkdtempSync, openSync, realpathSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { minFreeBytes } from "../../../storage/state-folder.ts";
import type { Clock, Millis } from "../../base/clock.ts";
import { existingFolder } from "../../board/existing-folder.ts";
import { isWorn } from "../../board/limits.ts";
import { mountOf } from "../../board/sensors/mount.ts";
import type { StorageReading } from "../../board/sensors/readings.ts";
import { storageReading } from "../../board/sensors/storage-device.ts";
import { codeOf } from "../../config/read-text.ts";
import { type CheckResult, fail, ok, skip, warn } from "../check-result.ts";
import { configOf, type Patient } from "../patient.ts";

const size = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

/** Checks whether the state folder survives a power cut. */
export function storagePersist(patient: Patient): CheckResult {
  const config = configOf(patient);
  if (!config) return skip("the configuration cannot be read");
  const { folder } = config.state;
  return checkPersistence(folder, readingOf(patient, folder));
}

export function checkPersistence(folder: string, { isVolatile, fileSystem, device }: StorageReading): CheckResult {
  if (fileSystem === undefined) return skip("this machine does not report its mounts");
  if (!isVolatile) return ok(`${folder} is on ${fileSystem}${device === undefined ? "" : ` (${device})`}`);
  return warn(
    `${folder} is on ${fileSystem}: the agent's stored state is lost after a power cut`,
    `Mount a small writable partition there, in /etc/fstab: LABEL=siteward ${folder} ext4 defaults,noatime 0 2`,
  );
}

function readingOf({ files }: Patient, folder: string): StorageReading {
  const place = realFolder(folder);
  return storageReading(files, place, mountOf(files, place));
}

/**
 * The path without symbolic links, because mounts are listed that way; for a folder that does not exist yet, its
 * nearest existing parent.
 */
function realFolder(folder: string): string {
  try {
    return realpathSync(existingFolder(folder) ?? folder);
  } catch {
    return folder;
  }
}

/** Checks free space and write access, because a board without them cannot stand for election. */
export function storageSpace(patient: Patient): CheckResult {
  const config = configOf(patient);
  return config ? checkSpace(config.state.folder, config.board.freeSpace) : skip("the configuration cannot be read");
}

export function checkSpace(folder: string, wanted: number): CheckResult {
  const place = existingFolder(folder);
  if (place === undefined) return fail(`${folder} does not exist`, `mkdir -p ${folder} && chown siteward: ${folder}`);
  const { bavail, bsize } = statfsSync(place);
  const free = bavail * bsize;
  const freeing = "Free space: journalctl --vacuum-size=32M, apt-get clean, docker system prune.";
  if (free < minFreeBytes) return fail(`${folder}: the disk is full (${free} bytes free)`, freeing);
  const problem = place === folder ? writeProblem(folder) : undefined;
  if (problem === "EROFS")
    return fail(
      `${folder} is on a read-only file system`,
      "See dmesg for the reason: a failing card becomes read-only. Replace it, or mount -o remount,rw.",
    );
  if (problem !== undefined) return fail(`${folder} cannot be written (${problem})`, `chown -R siteward: ${folder}`);
  if (free < wanted) return warn(`${folder}: ${size(free)} are free, less than ${size(wanted)}`, freeing);
  return ok(`${size(free)} are free${place === folder ? "" : ` where ${folder} will be created`}`);
}

function writeProblem(folder: string): string | undefined {
  try {
    rmSync(mkdtempSync(join(folder, ".doctor-")), { recursive: true });
    return undefined;
  } catch (error) {
    return String(codeOf(error) ?? error);
  }
}

const syncs = 20;

/** Measures a few synced writes, because elections and commands wait for such writes. */
export function storageFsync(patient: Patient): CheckResult {
  const config = configOf(patient);
  if (!config) return skip("the configuration cannot be read");
  const { folder } = config.state;
  if (existingFolder(folder) !== folder) return skip(`${folder} does not exist yet`);
  try {
    return checkFsync(measured(folder, patient.ambient.clock), config.board.fsync);
  } catch (error) {
    return skip(`${folder} cannot be written (${String(codeOf(error) ?? error)})`);
  }
}

function measured(folder: string, clock: Clock): readonly Millis[] {
  const scratch = mkdtempSync(join(folder, ".doctor-"));
  try {
    const handle = openSync(join(scratch, "fsync"), "w");
    try {
      return Array.from({ length: syncs }, (_, at) => {
        const begun = clock.now().mono;
        writeSync(handle, Buffer.alloc(4096, at));
        fsyncSync(handle);
        return clock.now().mono - begun;
      });
    } finally {
      closeSync(handle);
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

export function checkFsync(took: readonly Millis[], limit: Millis): CheckResult {
  const sorted = [...took].sort((a, b) => a - b);
  const p95 = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0;
  const message = `95 % of ${took.length} test writes reached the disk within ${p95 < 10 ? p95.toFixed(1) : Math.round(p95)} ms`;
  if (p95 <= limit) return ok(message);
  return warn(
    `${message}; the limit is ${limit} ms`,
    "The card is worn or slow, or another program writes a lot (iotop -o). Elections and commands wait for such writes.",
  );
}

export function storageWear(patient: Patient): CheckResult {
  const config = configOf(patient);
  if (!config) return skip("the configuration cannot be read");
  return checkWear(readingOf(patient, config.state.folder));
}

/** The verdict on the wear of the storage, which only eMMC reports. */
export function checkWear({ wear, kind }: StorageReading): CheckResult {
  if (wear === undefined)
    return skip(kind === "sd" ? "SD cards do not report wear" : "this storage does not report wear");
  const { usedPercent, reserve } = wear;
  const used = usedPercent === undefined ? "" : `up to ${usedPercent} % of the storage's rated life is used`;
  const spare = reserve === undefined || reserve === "normal" ? "" : `its spare blocks are nearly used up (${reserve})`;
  const message = `eMMC: ${[used, spare].filter(Boolean).join(", ")}`;
  return isWorn(wear) ? warn(message, "Plan to replace the board, or move the state folder.") : ok(message);
}
