import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** The kernel's default, which boards have. Servers' disks are set to megabytes: there a few pages bring all of a file. */
const readAheadKib = 128;

/** A disk of its own, in a file, that is read in pieces as large as those of a board's SD card. */
export class BoardDisk implements Disposable {
  readonly folder: string;
  readonly #home: string;
  readonly #device: string;

  private constructor(folder: string, home: string, device: string) {
    this.folder = folder;
    this.#home = home;
    this.#device = device;
  }

  /** Why there can be none here; `undefined`: there can. */
  static missing(): string | undefined {
    try {
      BoardDisk.make(16)[Symbol.dispose]();
      return undefined;
    } catch (error) {
      const [why = ""] = String(error instanceof Error ? error.message : error).split("\n");
      return `no disk can be made in a file, which takes root and a loop device: ${why}`;
    }
  }

  static make(mebibytes: number): BoardDisk {
    const home = mkdtempSync(path.join(os.tmpdir(), "siteward-disk-"));
    const [image, folder] = [path.join(home, "image"), path.join(home, "folder")];
    let device: string | undefined;
    try {
      writeFileSync(image, "");
      truncateSync(image, mebibytes * 2 ** 20);
      mkdirSync(folder);
      run("mkfs.ext4", "-q", "-F", image);
      device = run("losetup", "--find", "--show", "--direct-io=on", image).trim();
      writeFileSync(`/sys/block/${path.basename(device)}/queue/read_ahead_kb`, String(readAheadKib));
      run("mount", device, folder);
      return new BoardDisk(folder, home, device);
    } catch (error) {
      if (device !== undefined) run("losetup", "--detach", device);
      rmSync(home, { recursive: true });
      throw error;
    }
  }

  /** A copy of a program that is in nobody's memory: whoever runs it first has all of its pages on his account. */
  program(file: string, name: string): string {
    const copy = path.join(this.folder, name);
    copyFileSync(file, copy);
    run("dd", `of=${copy}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none");
    return copy;
  }

  /** Once nothing runs from it. */
  [Symbol.dispose](): void {
    run("umount", this.folder);
    run("losetup", "--detach", this.#device);
    rmSync(this.#home, { recursive: true });
  }
}

const run = (command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
