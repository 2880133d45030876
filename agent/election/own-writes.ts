import { microTimestamp } from "../api/timestamps.ts";
import type { Instant } from "../base/clock.ts";

/** More writes than ever await an answer at once; the Lease cannot show an older one any more. */
const mostKept = 64;

/**
 * Renewals that this process wrote into the Lease, or tried to: the answer may be lost. The renewTime of a write
 * identifies it; here it has no meaning as a time.
 */
export class OwnWrites {
  readonly #marks = new Set<number>();

  /** Notes a write that is about to be sent. */
  add(began: Instant): void {
    const mark = renewalMark(microTimestamp(began));
    if (mark === undefined) return;
    this.#marks.add(mark);
    for (const oldest of this.#marks) {
      if (this.#marks.size <= mostKept) break;
      this.#marks.delete(oldest);
    }
  }

  /** The write failed: a renewal with the same mark is another process's. */
  remove(began: Instant): void {
    const mark = renewalMark(microTimestamp(began));
    if (mark !== undefined) this.#marks.delete(mark);
  }

  has(mark: number): boolean {
    return this.#marks.has(mark);
  }
}

/** A renewTime as a mark, independent of the API server's spelling; undefined: there is none. */
export function renewalMark(renewTime: unknown): number | undefined {
  const mark = typeof renewTime === "string" ? Date.parse(renewTime) : Number.NaN;
  return Number.isNaN(mark) ? undefined : mark;
}
