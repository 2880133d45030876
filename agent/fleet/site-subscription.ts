import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import type { SiteControls } from "../commands/desk/controls.ts";
import { aclHint } from "./broker-hints.ts";
import { type Link, PublishError } from "./link.ts";
import type { LinkProblems } from "./link-problems.ts";
import type { SiteCommandGate } from "./site-command-gate.ts";
import { filtersOf, type Identity } from "./topics.ts";

export interface SiteSubscriptionParts {
  readonly identity: Identity;
  readonly link: Link;
  readonly ear: SiteCommandGate;
  readonly standing: SiteControls["standing"];
  readonly troubles: LinkProblems;
}

const trouble = "SiteCommandsRefused";
/** Retry interval after a refused subscription. */
const askAgain: Millis = 300_000;

/**
 * The leader's subscription to its site's commands on one connection. A refusal affects nothing else: the board's own
 * commands still arrive, and the status shows the problem.
 */
export class SiteSubscription {
  readonly #parts: SiteSubscriptionParts;
  #listens = false;
  #askFrom: Instant | undefined;

  constructor(parts: SiteSubscriptionParts) {
    this.#parts = parts;
  }

  /** Subscribes or unsubscribes as the election requires. Rejects with a PublishError if the connection is lost. */
  async follow(now: Instant): Promise<void> {
    const { identity, link, ear, standing, troubles } = this.#parts;
    const { site } = filtersOf(identity);
    const stands = standing();
    const wants = ear.wants(stands, now);
    if (!wants) {
      this.#askFrom = undefined;
      troubles.over(trouble);
    }
    if (wants === this.#listens || (this.#askFrom && elapsed(this.#askFrom, now) < 0)) return;
    if (!wants) {
      await link.unsubscribe(site);
      this.#listens = false;
      return;
    }
    ear.open(stands);
    try {
      await link.subscribe([{ filter: site, retained: false }]);
      this.#listens = true;
      troubles.over(trouble);
    } catch (error) {
      if (!(error instanceof PublishError) || error.kind !== "refused") throw error;
      this.#askFrom = shifted(now, askAgain);
      troubles.tell({
        type: trouble,
        severity: "warning",
        message: `commands to the site do not reach its leader: ${error.message}`,
        hint: aclHint(identity),
      });
    }
  }
}
