import { covers } from "../api/resource-version.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** A write of the site's Lease by this board. */
interface OwnRenewal {
  /** The resourceVersion that the server gave it. */
  readonly version: string;
  readonly sentAt: Instant;
  readonly answeredAt: Instant;
}

/** Number of renewals that are kept: five minutes of them at the default intervals. */
const maxKept = 32;

/**
 * The last renewals of the site's Lease, as a clock for watches of Leases. A server, or a slow link, may deliver a
 * watch's events minutes late and without a pause, while renewals are answered at once. All Leases share one counter of
 * versions, so the version of an event shows how late it is: the change happened before every renewal with a higher
 * version, and after all others.
 */
export class OwnRenewals {
  #kept: readonly OwnRenewal[] = [];

  add(renewal: OwnRenewal): void {
    this.#kept = [...this.#kept, renewal].slice(-maxKept);
  }

  /**
   * Forgets all renewals, because the counter may have gone back. Until new ones are added, nothing is known about the
   * lateness of watches.
   */
  clear(): void {
    this.#kept = [];
  }

  /**
   * The instant up to which a watch of Leases has delivered every change, given that it has just delivered a change of
   * this version. `now` if the watch lags behind no renewal that was answered more than `blip` ago, perhaps because no
   * renewals are kept; undefined if the change is older than all renewals that are kept.
   */
  deliveredUpTo(version: string, blip: Millis, now: Instant): Instant | undefined {
    const isMissed = (renewal: OwnRenewal): boolean =>
      !covers(version, renewal.version) && elapsed(renewal.answeredAt, now) > blip;
    const missed = this.#kept.findIndex(isMissed);
    return missed < 0 ? now : this.#kept[missed - 1]?.sentAt;
  }
}
