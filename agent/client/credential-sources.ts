import { statSync } from "node:fs";
import { type Clock, elapsed, type Instant, type Millis } from "../base/clock.ts";
import { readCredentialFile } from "./credential-file.ts";
import type { ExecCredential, ExecPlugin } from "./exec-credential.ts";

const lookAfter: Millis = 10_000;

/**
 * The files that one access was read from. They are checked for changes only after a doubt, at most every ten seconds:
 * an access in good standing costs nothing.
 */
export class CredentialSources {
  readonly #clock: Clock;
  readonly #states = new Map<string, string>();
  #lookedAt: Instant;
  #isDoubtful = false;
  #haveChanged = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAt = clock.now();
  }

  read(file: string, what: string): Promise<string> {
    this.note(file);
    return readCredentialFile(file, what);
  }

  /** Call before reading: a write in between counts as a change. */
  note(file: string): void {
    this.#states.set(file, stateOf(file));
  }

  doubt(): void {
    this.#isDoubtful = true;
  }

  /** Stays true once a check has found a changed file. */
  haveChanged(): boolean {
    return this.#isDoubtful ? this.#look() : this.#haveChanged;
  }

  /**
   * The plugin's answer. A running plugin is given up once the files have changed, since they may name another one now.
   */
  async answerOf(plugin: ExecPlugin): Promise<ExecCredential> {
    const answer = plugin.credential();
    if (!plugin.isRunning) return await answer;
    const look = (): void => {
      if (this.#look()) plugin.giveUp();
      else timer = this.#clock.after(lookAfter, look);
    };
    let timer = this.#clock.after(lookAfter, look);
    try {
      return await answer;
    } finally {
      timer.cancel();
    }
  }

  #look(): boolean {
    const now = this.#clock.now();
    if (this.#haveChanged || elapsed(this.#lookedAt, now) < lookAfter) return this.#haveChanged;
    this.#lookedAt = now;
    this.#isDoubtful = false;
    this.#haveChanged = [...this.#states].some(([file, state]) => stateOf(file) !== state);
    return this.#haveChanged;
  }
}

/** A text that changes when the file is written or replaced. */
function stateOf(file: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(file);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return "unseen";
  }
}
