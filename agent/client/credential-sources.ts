import { statSync } from "node:fs";
import { type Clock, elapsed, type Instant, type Millis } from "../base/clock.ts";
import { readCredentialFile } from "./credential-file.ts";
import type { ExecCredential, ExecPlugin } from "./exec-credential.ts";

const lookAfter: Millis = 10_000;

/**
 * The files that one access was read from. They are looked at again where there is doubt whether it is the right one, at
 * most every ten seconds: an access that nobody doubts costs nothing.
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

  /** Before it is read: what is written in between counts as a change. */
  note(file: string): void {
    this.#states.set(file, stateOf(file));
  }

  doubt(): void {
    this.#isDoubtful = true;
  }

  /** True for good once a look has found another file. */
  haveChanged(): boolean {
    return this.#isDoubtful ? this.#look() : this.#haveChanged;
  }

  /** What the plugin that they name answers. It is given up once they have changed: it may be what was corrected in them. */
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

/** A text that is another one once the file was written or replaced. */
function stateOf(file: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(file);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return "unseen";
  }
}
