import { statSync } from "node:fs";
import { type Clock, elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { readCredentialFile } from "./credential-file.ts";
import type { ExecCredential, ExecPlugin } from "./exec-credential.ts";

const checkEvery: Millis = 10_000;

/**
 * The files that an `Access` was read from. They are checked for changes only after `doubt` was called, and at most
 * every ten seconds, so that working credentials cause no reads.
 */
export class CredentialSources {
  readonly #clock: Clock;
  readonly #states = new Map<string, string>();
  #checkedAt: Instant;
  #isDoubtful = false;
  #haveChanged = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#checkedAt = clock.now();
  }

  read(file: string, what: string): Promise<string> {
    this.note(file);
    return readCredentialFile(file, what);
  }

  /** Adds a file. Call it before reading the file, so that a write during the read counts as a change. */
  note(file: string): void {
    this.#states.set(file, stateOf(file));
  }

  /** The credentials may be wrong, so the next `haveChanged` checks the files. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** True once a check has found a changed file. */
  haveChanged(): boolean {
    return this.#isDoubtful ? this.#check() : this.#haveChanged;
  }

  /**
   * The plugin's credential. A running plugin is stopped when the files change, because they may now name another
   * plugin.
   */
  async answerOf(plugin: ExecPlugin): Promise<ExecCredential> {
    const answer = plugin.credential();
    if (!plugin.isRunning) return await answer;
    const check = (): void => {
      if (this.#check()) plugin.giveUp();
      else timer = this.#clock.after(checkEvery, check);
    };
    let timer = this.#clock.after(checkEvery, check);
    try {
      return await answer;
    } finally {
      timer.cancel();
    }
  }

  #check(): boolean {
    const now = this.#clock.now();
    if (this.#haveChanged || elapsed(this.#checkedAt, now) < checkEvery) return this.#haveChanged;
    this.#checkedAt = now;
    this.#isDoubtful = false;
    this.#haveChanged = [...this.#states].some(([file, state]) => stateOf(file) !== state);
    return this.#haveChanged;
  }
}

/** A fingerprint that changes when the file is written or replaced. */
function stateOf(file: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(file);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return "unreadable";
  }
}
