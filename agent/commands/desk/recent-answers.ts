import type { Known } from "./ledger.ts";

const mostBytes = 64 * 1024;

/**
 * Answers to commands that changed nothing (reads and refusals), for redelivered copies. Kept in memory: after a
 * restart the command is read or checked again, which spares the flash.
 */
export class RecentAnswers {
  readonly #known = new Map<string, Known & { readonly bytes: number }>();
  #bytes = 0;

  find(id: string, hash: string): Known | undefined {
    return this.#known.get(refused(hash)) ?? this.#known.get(id);
  }

  keep(id: string, known: Known): void {
    const bytes = JSON.stringify(known.answer).length + 256;
    if (bytes > mostBytes / 4) return;
    this.#forget(id);
    this.#known.set(id, { ...known, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#known.keys()) {
      if (this.#bytes <= mostBytes) return;
      this.#forget(oldest);
    }
  }

  /** Kept by hash, not by id: a refused command does not use up its id. */
  keepRefusal(known: Known): void {
    this.keep(refused(known.hash), known);
  }

  #forget(id: string): void {
    this.#bytes -= this.#known.get(id)?.bytes ?? 0;
    this.#known.delete(id);
  }
}

/** Cannot collide with an id, which has no spaces. */
const refused = (hash: string): string => `refused ${hash}`;
