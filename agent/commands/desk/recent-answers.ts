import type { KnownCommand } from "./ledger.ts";

const maxBytes = 64 * 1024;

/**
 * Answers to commands that changed nothing (reads and refusals), repeated when the broker redelivers a command. They are
 * kept by id and hash together: such a command does not use up its id, or anyone who guesses the id
 * of a signed one could keep it from being accepted. They are in memory only, to spare the flash; after a restart, a
 * redelivered command is simply checked again.
 */
export class RecentAnswers {
  readonly #answers = new Map<string, KnownCommand & { readonly bytes: number }>();
  #bytes = 0;

  find(id: string, hash: string): KnownCommand | undefined {
    return this.#answers.get(keyOf(id, hash));
  }

  keep(id: string, known: KnownCommand): void {
    const bytes = JSON.stringify(known.answer).length + 256;
    if (bytes > maxBytes / 4) return;
    const key = keyOf(id, known.hash);
    this.#forget(key);
    this.#answers.set(key, { ...known, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#answers.keys()) {
      if (this.#bytes <= maxBytes) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#answers.get(key)?.bytes ?? 0;
    this.#answers.delete(key);
  }
}

const keyOf = (id: string, hash: string): string => `${id} ${hash}`;
