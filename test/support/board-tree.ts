import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type BoardFiles, boardFiles } from "../../agent/board/sensors/board-files.ts";

const fixtures = path.resolve(import.meta.dirname, "../agent/board/fixtures");

/** Files of a board by path; `undefined` if the file does not exist. */
export type Change = Readonly<Record<string, string | undefined>>;

/**
 * Creates a board's /sys and /proc as real folders, files and links, from the list in fixtures/<board>.tree: `path =
 * text` with \n and \0 written out, or `path -> target`. In git they would be files with NULs and dangling links.
 */
export class BoardTree {
  readonly root = mkdtempSync(path.join(tmpdir(), "siteward-board-"));
  readonly files: BoardFiles = boardFiles(this.root);

  constructor(board: string, change: Change = {}) {
    this.set({ "/var/lib/siteward/.kept": "" });
    for (const line of readFileSync(path.join(fixtures, `${board}.tree`), "utf8").split("\n")) {
      const [, file, is, value = ""] = /^(\/\S+) (=|->) (.*)$/.exec(line) ?? [];
      if (file === undefined) {
        if (line !== "" && !line.startsWith("#")) throw new Error(`${board}.tree: ${line}`);
      } else if (is === "=") this.set({ [file]: value.replaceAll("\\n", "\n").replaceAll("\\0", "\0") });
      else this.#link(file, value);
    }
    this.set(change);
  }

  /** Changes a file while the board runs. */
  set(change: Change): void {
    for (const [file, text] of Object.entries(change)) {
      const at = path.join(this.root, file);
      rmSync(at, { force: true, recursive: true });
      if (text === undefined) continue;
      mkdirSync(path.dirname(at), { recursive: true });
      writeFileSync(at, text);
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  #link(file: string, target: string): void {
    const at = path.join(this.root, file);
    mkdirSync(path.dirname(at), { recursive: true });
    mkdirSync(path.resolve(path.dirname(at), target), { recursive: true });
    symlinkSync(target, at);
  }
}
