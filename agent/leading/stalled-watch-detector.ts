import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, isAfter, laterOf, type Millis } from "../base/clock.ts";
import type { Sickness } from "../board/board-health.ts";
import type { Config } from "../config/settings.ts";
import { isLive, type WatchHealth, type WatchLimits } from "../informer/watch-health.ts";
import { linkOf } from "../judgement/link.ts";
import { minTroubleDuration, ReconnectBackoff } from "./reconnect-backoff.ts";

export interface StalledWatchDeps {
  readonly limits: WatchLimits;
  readonly leader: Pick<Config["leader"], "sickFor" | "renewDeadline">;
  readonly renewConnection: () => void;
}

interface Watches {
  readonly nodes: WatchHealth;
  readonly leases: WatchHealth;
}

/**
 * A leader is deaf if it renews its Lease, but its lists or watches of Nodes or Leases fail or are stuck. It keeps the
 * other boards from leading, but does not notice boards that fall silent or return (docs/judgement.md#unwell-boards).
 */
export class StalledWatchDetector {
  readonly #ambient: Ambient;
  readonly #deps: StalledWatchDeps;
  readonly #connections: ReconnectBackoff;
  #since: Instant | undefined;

  constructor(ambient: Ambient, deps: StalledWatchDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#connections = new ReconnectBackoff(minTroubleDuration(deps.leader), deps.renewConnection);
  }

  /**
   * Called every few seconds during a term. Renewals are not checked here, because the term ends by itself once none
   * succeeds.
   */
  update(watches: Watches, now: Instant): void {
    this.#since = deafSince(this.#since, { watches, limits: this.#deps.limits }, now);
    if (!this.#connections.renewIfDue(this.#since, now)) return;
    this.#ambient.log.warn("the watches of boards deliver nothing, so the next requests open a new connection");
  }

  /** Called when the term has ended. */
  end(): void {
    this.#since = undefined;
  }

  /** Why this leader should step down; undefined if it has not been deaf for long enough. */
  sickness(now: Instant): Sickness | undefined {
    if (this.#since === undefined || elapsed(this.#since, now) < minTroubleDuration(this.#deps.leader))
      return undefined;
    return { why: "its watches of boards have delivered nothing new", since: this.#since };
  }
}

/** A watch that ends sooner, without news, was never useful. */
const minWatchDuration: Millis = 1000;

/**
 * When the leader became deaf; undefined if it is not. `before`: the result of the last check. Deafness counts from the
 * first check that finds it, not from the moment when a watch stalled, because that watch is first reopened. A watch
 * that is opened and ends immediately does not interrupt deafness.
 */
function deafSince(
  before: Instant | undefined,
  { watches, limits }: { readonly watches: Watches; readonly limits: WatchLimits },
  now: Instant,
): Instant | undefined {
  const { nodes, leases } = watches;
  if (before && ![nodes, leases].every((watch) => hasWorked(watch, before, limits, now))) return before;
  const since = linkOf(watches, limits, now).notLiveSince ?? stuckSince(leases, limits, now);
  return since && laterOf(since, before ?? now);
}

/** Whether a watch has delivered news since `before`, works now, or is still receiving its first list. */
function hasWorked(watch: WatchHealth, before: Instant, limits: WatchLimits, now: Instant): boolean {
  const { lastNews, lastReceived, notLiveSince, resumedAt } = watch;
  if (lastNews !== undefined && isAfter(lastNews, before)) return true;
  if (isLive(watch, limits, now)) return resumedAt === undefined || elapsed(resumedAt, now) >= minWatchDuration;
  return lastReceived === undefined && notLiveSince === undefined;
}

/**
 * A stuck server repeats its bookmarks, or sends nothing over new watches. A working server sends a bookmark at least
 * every 75 s, and each renewal of the site's own Lease moves the resourceVersion in it.
 */
function stuckSince(leases: WatchHealth, { stall }: WatchLimits, now: Instant): Instant | undefined {
  const since = leases.newslessSince ?? leases.lastNews;
  return since && elapsed(since, now) >= stall ? since : undefined;
}
