import { IncompleteEventError } from "./stall-guard.ts";
import { problemOf, type UnreadableError } from "./watch-errors.ts";

/**
 * Events that a watch could not deliver. After such an event, the watch resumes at the stored position, where an event
 * that was truncated by chance arrives intact. An event that fails there again, because it is unreadable or too large
 * for the link, would fail for ever.
 */
export class StuckEvents {
  #failure: { readonly at: string | undefined; readonly error: UnreadableError | IncompleteEventError } | undefined;

  /**
   * Records that the event after this position failed. Returns whether the previous failure was at the same position.
   */
  recordFailure(error: UnreadableError | IncompleteEventError, position: string | undefined): boolean {
    const isAgain = this.#failure !== undefined && this.#failure.at === position;
    this.#failure = { at: position, error };
    return isAgain;
  }

  /** Why the last event at this position was truncated; undefined if it was not, or once the position has moved. */
  problemAt(position: string | undefined): string | undefined {
    const isHere = this.#failure?.at === position && this.#failure?.error instanceof IncompleteEventError;
    return isHere ? problemOf(this.#failure?.error) : undefined;
  }
}
