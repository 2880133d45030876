import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant } from "../base/clock.ts";
import type { Sickness } from "../board/board-health.ts";
import type { FailingKind, FailingRequests, Failures } from "../client/failing-requests.ts";
import type { Config } from "../config/settings.ts";
import type { WatchHealth, WatchLimits } from "../informer/watch-health.ts";
import { isOutdated, linkOf } from "../judgement/link.ts";
import { minTroubleDuration, ReconnectBackoff } from "./reconnect-backoff.ts";

export interface IncapacityDeps {
  readonly failing: Pick<FailingRequests, "list" | "forget">;
  readonly limits: WatchLimits;
  readonly leader: Pick<Config["leader"], "sickFor" | "renewDeadline">;
  readonly renewConnection: () => void;
}

/** Fewer failures may be chance. */
const minFailures = 3;

/**
 * A leader is unable to act if it renews its Lease and receives heartbeats, but all its requests of a kind needed for
 * judging or evicting fail. It keeps the other boards from leading, but does not act (docs/judgement.md#unwell-boards).
 */
export class Incapacity {
  readonly #ambient: Ambient;
  readonly #deps: IncapacityDeps;
  readonly #connections: ReconnectBackoff;

  constructor(ambient: Ambient, deps: IncapacityDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#connections = new ReconnectBackoff(minTroubleDuration(deps.leader), deps.renewConnection);
  }

  /** Called at the beginning of a term, because earlier failures say nothing about it. */
  begin(): void {
    this.#deps.failing.forget(() => true);
  }

  /** Called every few seconds during a term. Failures caused by an outage are not counted. */
  update(watches: { readonly nodes: WatchHealth; readonly leases: WatchHealth }, now: Instant): void {
    const { failing, limits } = this.#deps;
    const link = linkOf(watches, limits, now);
    failing.forget(({ since }) => isOutdated(link, since, limits, now));
    const [first] = failing.list(now);
    // The failing period ends at the last failure, not now, because there may have been no request of this kind since.
    if (!this.#connections.renewIfDue(first?.since, first?.last ?? now)) return;
    this.#ambient.log.warn("requests of one kind fail, so the next requests open a new connection", {
      requests: first?.kind,
      error: first?.error,
    });
  }

  /** The kind of requests that has failed for long enough to count; undefined if there is none. */
  failing(now: Instant): FailingKind | undefined {
    return this.#deps.failing.list(now).find((kind) => this.#lasts(kind));
  }

  /**
   * Why this leader should step down; undefined if it is able to act, or if another leader might meet the same problem.
   */
  sickness(now: Instant): Sickness | undefined {
    for (const { kind, ofServer } of this.#deps.failing.list(now)) {
      if (ofServer && this.#lasts(ofServer)) {
        return { why: `its requests to ${kind} have failed`, since: ofServer.since };
      }
    }
    return undefined;
  }

  #lasts({ since, last, count }: Failures): boolean {
    return count >= minFailures && elapsed(since, last) >= minTroubleDuration(this.#deps.leader);
  }
}
