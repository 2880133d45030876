import { microTimestamp } from "../api/timestamps.ts";
import type { Instant } from "../base/clock.ts";

/** More than ever wait for an answer: what was tried before these cannot be what the Lease says now. */
const mostKept = 64;

/**
 * What this process wrote into the Lease, and what it only tried to: its answer may be lost. Each write carries its own
 * renewTime, and by that it is known again; as a time it means nothing here.
 */
export class OwnWrites {
  readonly #marks = new Set<number>();

  /** A write that is about to be sent. */
  add(began: Instant): void {
    const mark = renewalMark(microTimestamp(began));
    if (mark === undefined) return;
    this.#marks.add(mark);
    for (const oldest of this.#marks) {
      if (this.#marks.size <= mostKept) break;
      this.#marks.delete(oldest);
    }
  }

  /** It was not written: whoever wrote at that same moment is somebody else. */
  remove(began: Instant): void {
    const mark = renewalMark(microTimestamp(began));
    if (mark !== undefined) this.#marks.delete(mark);
  }

  has(mark: number): boolean {
    return this.#marks.has(mark);
  }
}

/** A renewTime as a mark, however the API server spells it; undefined: there is none. */
export function renewalMark(renewTime: unknown): number | undefined {
  const mark = typeof renewTime === "string" ? Date.parse(renewTime) : Number.NaN;
  return Number.isNaN(mark) ? undefined : mark;
}
