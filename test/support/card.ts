import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { stdio: "pipe", encoding: "utf8" }).trim();

/**
 * A card in a board: a real file system on a separate device, which the kernel makes read-only after a reported error.
 */
export class Card {
  readonly folder: string;
  readonly #parent: string;
  readonly #device: string;
  #isIn = false;

  constructor(megabytes = 16) {
    this.#parent = mkdtempSync(path.join(os.tmpdir(), "siteward-card-"));
    this.folder = path.join(this.#parent, "card");
    const image = path.join(this.#parent, "image");
    run("truncate", "-s", `${megabytes}M`, image);
    run("mkfs.ext4", "-q", image);
    this.#device = run("losetup", "--show", "--find", image);
    mkdirSync(this.folder);
    this.#insert();
  }

  /** Why this machine cannot provide one; undefined if it can. */
  static whyNot(): string | undefined {
    try {
      const card = new Card(4);
      const isBreakable = existsSync(card.#trigger);
      card.remove();
      return isBreakable ? undefined : "this kernel's ext4 does not support injected errors";
    } catch (error) {
      return `no file system on a loop device can be mounted (${error instanceof Error ? error.message.split("\n")[0] : error})`;
    }
  }

  /** Simulates a failed write of a block. Open files stay open but accept no writes. */
  fail(): void {
    writeFileSync(this.#trigger, "a bad block");
  }

  /** Unmounts, checks and remounts the card, as a person would; none of its files may be open. */
  mend(): void {
    this.#takeOut();
    try {
      run("fsck.ext4", "-fy", this.#device);
    } catch (error) {
      // 1: something was found, and repaired.
      if ((error as { readonly status?: number }).status !== 1) throw error;
    }
    this.#insert();
  }

  remove(): void {
    this.#takeOut();
    run("losetup", "--detach", this.#device);
    rmSync(this.#parent, { recursive: true });
  }

  #insert(): void {
    run("mount", "-o", "errors=remount-ro", this.#device, this.folder);
    this.#isIn = true;
  }

  #takeOut(): void {
    if (this.#isIn) run("umount", this.folder);
    this.#isIn = false;
  }

  get #trigger(): string {
    return `/sys/fs/ext4/${path.basename(this.#device)}/trigger_fs_error`;
  }
}
