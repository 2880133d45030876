import { type Instant, isAfter, type Millis, shifted } from "../base/clock.ts";
import type { SiteControls } from "../commands/desk/controls.ts";
import { aclHint } from "./mqtt/broker-hints.ts";
import { type BrokerLink, PublishError } from "./mqtt/link.ts";
import type { LinkProblems } from "./mqtt/link-problems.ts";
import { type FleetIdentity, filtersOf } from "./mqtt/topics.ts";
import type { SiteCommandGate } from "./site-command-gate.ts";

export interface SiteSubscriptionDeps {
  readonly identity: FleetIdentity;
  readonly link: BrokerLink;
  readonly gate: SiteCommandGate;
  readonly standing: SiteControls["standing"];
  readonly linkProblems: LinkProblems;
}

const trouble = "SiteCommandsRefused";
/** Retry interval after a refused subscription. */
const retryAfter: Millis = 300_000;

/**
 * The leader's subscription to its site's commands on one connection. If the broker refuses it, the status shows the
 * problem, and commands to this board still arrive.
 */
export class SiteSubscription {
  readonly #deps: SiteSubscriptionDeps;
  #isSubscribed = false;
  /** When to try again after a refusal; undefined if there was none. */
  #retryAt: Instant | undefined;

  constructor(deps: SiteSubscriptionDeps) {
    this.#deps = deps;
  }

  /** Subscribes or unsubscribes as the election requires. Rejects with a PublishError if the connection is lost. */
  async follow(now: Instant): Promise<void> {
    const { identity, link, gate, standing, linkProblems } = this.#deps;
    const { site } = filtersOf(identity);
    const stands = standing();
    const wants = gate.wants(stands, now);
    if (!wants) {
      this.#retryAt = undefined;
      linkProblems.clear(trouble);
    }
    if (wants === this.#isSubscribed || (this.#retryAt && isAfter(this.#retryAt, now))) return;
    if (!wants) {
      await link.unsubscribe(site);
      this.#isSubscribed = false;
      return;
    }
    gate.open(stands);
    try {
      await link.subscribe([{ filter: site, retained: false }]);
      this.#isSubscribed = true;
      linkProblems.clear(trouble);
    } catch (error) {
      if (!(error instanceof PublishError) || error.kind !== "refused") throw error;
      this.#retryAt = shifted(now, retryAfter);
      linkProblems.report({
        type: trouble,
        severity: "warning",
        message: `this leader cannot receive site commands: ${error.message}`,
        hint: aclHint(identity),
      });
    }
  }
}
