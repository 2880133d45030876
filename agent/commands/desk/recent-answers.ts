import type { KnownCommand } from "./ledger.ts";

const maxBytes = 64 * 1024;

/**
 * Answers to commands that changed nothing (reads and refusals), repeated when the broker redelivers a command. They
 * are in memory only, to spare the flash; after a restart, a redelivered command is simply checked again.
 */
export class RecentAnswers {
  readonly #answers = new Map<string, KnownCommand & { readonly bytes: number }>();
  #bytes = 0;

  find(id: string, hash: string): KnownCommand | undefined {
    return this.#answers.get(refused(hash)) ?? this.#answers.get(id);
  }

  keep(id: string, known: KnownCommand): void {
    const bytes = JSON.stringify(known.answer).length + 256;
    if (bytes > maxBytes / 4) return;
    this.#forget(id);
    this.#answers.set(id, { ...known, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#answers.keys()) {
      if (this.#bytes <= maxBytes) return;
      this.#forget(oldest);
    }
  }

  /** Keeps a refusal by the command's hash, not its id, because a refused command does not use up its id. */
  keepRefusal(known: KnownCommand): void {
    this.keep(refused(known.hash), known);
  }

  #forget(id: string): void {
    this.#bytes -= this.#answers.get(id)?.bytes ?? 0;
    this.#answers.delete(id);
  }
}

/** The key of a refusal. It cannot collide with an id, which has no spaces. */
const refused = (hash: string): string => `refused ${hash}`;
