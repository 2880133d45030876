import { dispositionOf } from "../../base/errors.ts";
import { IncompleteEventError } from "./stall-guard.ts";
import { StuckEvents } from "./stuck-events.ts";
import { castsDoubt, isMeaningless, OtherHistoryError, ShortWatchError, UnreadableError } from "./watch-errors.ts";

type Usability =
  /** The watch resumes at the position. */
  | "usable"
  /** The last watch failed as if the position were meaningless, so the server is first asked whether it knows it. */
  | "doubted"
  /** The server no longer has the events after the position. A list at least as new as the position replaces it. */
  | "expired"
  /** The server cannot even list at the position, or has another history. A list of the newest state replaces it. */
  | "useless";

const severity = { usable: 0, doubted: 1, expired: 2, useless: 3 } as const satisfies Record<Usability, number>;

/**
 * To what extent the stored position can be used. Failures only make it worse, until the server or a list restores it:
 *
 * event                                                         | method     | next state
 * --------------------------------------------------------------|------------|------------------------
 * the server answered that it knows the position                | `known`    | usable
 * a list was stored, with its own position                      | `replaced` | usable
 * the stored history is not proven                              | `discard`  | useless
 * the server cannot list at the position                        | `discard`  | useless
 * the server refused it as meaningless, or sent another history | `failed`   | useless
 * the server no longer has the events after the position        | `failed`   | expired, unless useless
 * the event after the position could not be read, twice         | `failed`   | expired, unless useless
 * a watch ended at once, or failed as at a meaningless position | `failed`   | doubted, unless worse
 * any other failure                                             | `failed`   | unchanged
 */
export class PositionState {
  #is: Usability = "usable";
  readonly #stuck = new StuckEvents();

  get is(): Usability {
    return this.#is;
  }

  /** The problem of an event that did not arrive completely; undefined once the position has moved. */
  problemAt(position: string | undefined): string | undefined {
    return this.#stuck.problemAt(position);
  }

  known(): void {
    this.#is = "usable";
  }

  replaced(): void {
    this.#is = "usable";
  }

  discard(): void {
    this.#is = "useless";
  }

  /** `events`: the number of usable events that the last watch delivered. */
  failed(
    error: unknown,
    { position, events }: { readonly position: string | undefined; readonly events: number },
  ): void {
    const next = this.#after(error, position, events);
    if (severity[next] > severity[this.#is]) this.#is = next;
  }

  #after(error: unknown, position: string | undefined, events: number): Usability {
    if (error instanceof OtherHistoryError || isMeaningless(error)) return "useless";
    if (dispositionOf(error) === "relist") return "expired";
    if (error instanceof UnreadableError || error instanceof IncompleteEventError) {
      return this.#stuck.recordFailure(error, position) ? "expired" : "usable";
    }
    return error instanceof ShortWatchError || castsDoubt(error, events) ? "doubted" : "usable";
  }
}
