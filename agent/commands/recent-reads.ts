import type { Known } from "./ledger.ts";

const mostBytes = 64 * 1024;

/**
 * Answers to commands that change nothing, for those that come twice. In memory: after a restart a read is simply read
 * again, and no card wears out for it.
 */
export class RecentReads {
  readonly #known = new Map<string, Known & { readonly bytes: number }>();
  #bytes = 0;

  find(id: string): Known | undefined {
    return this.#known.get(id);
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

  #forget(id: string): void {
    this.#bytes -= this.#known.get(id)?.bytes ?? 0;
    this.#known.delete(id);
  }
}
