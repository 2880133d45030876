import type { Known } from "./ledger.ts";

const mostBytes = 64 * 1024;

/**
 * Answers to commands that changed nothing, for those that come twice: what was read, and why what was refused was. In
 * memory: after a restart a read is simply read again, a refusal judged again, and no card wears out for them.
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

  /** Of these bytes only: a slip does not use an id up. */
  keepRefusal(known: Known): void {
    this.keep(refused(known.hash), known);
  }

  #forget(id: string): void {
    this.#bytes -= this.#known.get(id)?.bytes ?? 0;
    this.#known.delete(id);
  }
}

/** No id has a space. */
const refused = (hash: string): string => `refused ${hash}`;
