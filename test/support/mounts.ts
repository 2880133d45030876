import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** A small separate file system in a new folder, like an SD card that is full, or read-only after an error. */
export function mount(parent: string, options: string): string {
  const folder = mkdtempSync(path.join(parent, "mount-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "none", folder], { stdio: "pipe" });
  return folder;
}

export const unmount = (folder: string): void => {
  execFileSync("umount", [folder], { stdio: "pipe" });
};

/** Only root may mount, and not in every container. */
export function canMount(): boolean {
  const parent = mkdtempSync(path.join(os.tmpdir(), "siteward-mount-"));
  try {
    unmount(mount(parent, "size=64k"));
    return true;
  } catch {
    return false;
  } finally {
    rmSync(parent, { recursive: true });
  }
}
