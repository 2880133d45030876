import type { KubeObject } from "../api/meta.ts";
import { leases, type Resource, resourceName } from "../api/resources.ts";
import { type Clock, earlierOf, type Instant, laterOf, type Millis } from "../base/clock.ts";
import { interruptedSince, isInterrupted, type LeaseRenewalHealth } from "../election/lease-renewal-health.ts";
import type { WatchHealth } from "../informer/watch-health.ts";
import type { Cache, Caches } from "../loop/site-view.ts";
import { withHealth } from "./with-health.ts";

/** The source of the health of writes, and the longest interruption that is not an outage. */
export interface WritableLeasesDeps {
  readonly writes: () => LeaseRenewalHealth;
  readonly blip: Millis;
}

/**
 * The caches, with a watch of Leases that is live only while Leases can be written, because a watch that stays open
 * does not show heartbeats that the API server refuses. An interruption of writes is an outage like one of the watch
 * (docs/judgement.md#outages).
 */
export class WritableLeases implements Caches {
  readonly #clock: Clock;
  readonly #caches: Caches;
  readonly #deps: WritableLeasesDeps;

  constructor(clock: Clock, caches: Caches, deps: WritableLeasesDeps) {
    this.#clock = clock;
    this.#caches = caches;
    this.#deps = deps;
  }

  informer<T extends KubeObject>(resource: Resource<T>): Cache<T> {
    const cache = this.#caches.informer(resource);
    if (resourceName(resource) !== resourceName(leases)) return cache;
    const { writes, blip } = this.#deps;
    return withHealth(cache, (watch) => whileWritable(watch, writes(), blip, this.#clock.now()));
  }
}

/** The health of the watch of Leases, given the health of writes. */
export function whileWritable(watch: WatchHealth, writes: LeaseRenewalHealth, blip: Millis, now: Instant): WatchHealth {
  const restoredAt = laterOf(watch.restoredAt, writes.restoredAt);
  if (!isInterrupted(writes, blip, now)) return restoredAt === watch.restoredAt ? watch : { ...watch, restoredAt };
  return {
    ...watch,
    connected: false,
    restoredAt,
    notLiveSince: earlierOf(watch.notLiveSince, interruptedSince(writes)),
  };
}
