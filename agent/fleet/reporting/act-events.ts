import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { ChangeSummary } from "../../decisions/decision-changes.ts";
import type { FleetEvent } from "./fleet-events.ts";

/** Minimum interval between two events, so that a power failure of a site causes a few messages, not thousands. */
const quiet: Millis = 60_000;

/** Reports to the fleet which harmful acts were done, held back or failed, at most once a minute. */
export class ActEvents {
  readonly #take: () => ChangeSummary | undefined;
  #reportedAt: Instant | undefined;

  constructor(take: () => ChangeSummary | undefined) {
    this.#take = take;
  }

  /** The event that is now due; undefined if there is none. */
  due(now: Instant): FleetEvent | undefined {
    if (this.#reportedAt !== undefined && elapsed(this.#reportedAt, now) < quiet) return undefined;
    const event = this.rest();
    if (event) this.#reportedAt = now;
    return event;
  }

  /** The event for everything that is not reported yet, whether due or not. */
  rest(): FleetEvent | undefined {
    const changes = this.#take();
    if (changes === undefined) return undefined;
    const isHarm = changes.counts.some(({ state }) => state === "done" || state === "failed");
    return { type: "acts.decided", severity: isHarm ? "warning" : "info", detail: { ...changes }, isOfSite: true };
  }
}
