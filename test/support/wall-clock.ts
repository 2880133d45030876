import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";

/** A separate wall clock for a process: wrong from the start, or set while it runs. Built with the C compiler. */
export class WallClock {
  readonly #file: string;
  readonly #library: string;

  constructor(dir: string, name: string) {
    this.#file = path.join(dir, `${name}.offset`);
    this.#library = path.join(dir, `${name}.so`);
    const source = path.resolve(import.meta.dirname, "wall-clock.c");
    execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", this.#library, source], { stdio: "pipe" });
    this.set(0);
  }

  /** From now on, shifts the clock from the true time by this many seconds. */
  set(seconds: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(seconds)));
    // Written in place, because the process has the file mapped.
    writeFileSync(this.#file, bytes, { flag: existsSync(this.#file) ? "r+" : "w" });
  }

  /** A command that executes the command that follows it, under this clock. */
  get through(): readonly string[] {
    return ["env", `LD_PRELOAD=${this.#library}`, `WALL_CLOCK_FILE=${this.#file}`];
  }
}

/** Why the stories with wrong clocks are skipped; undefined if they run. */
export function missingCompiler(): string | undefined {
  try {
    execFileSync("cc", ["--version"], { stdio: "pipe" });
    return undefined;
  } catch {
    return "there is no C compiler (cc) to make wrong clocks with";
  }
}
