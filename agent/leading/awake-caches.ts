import type { KubeObject } from "../api/meta.ts";
import { leases, nodes, type Resource, resourceName } from "../api/resources.ts";
import { type Clock, earlierOf, type Instant, isAfter, laterOf } from "../base/clock.ts";
import type { WatchHealth } from "../informer/watch-health.ts";
import type { Cache, Caches } from "../loop/site-view.ts";
import type { Suspended, Suspensions } from "./suspensions.ts";
import { withHealth } from "./with-health.ts";

const ofBoards = [nodes, leases].map(resourceName);

/**
 * The caches, with watches of Nodes and Leases that are not live right after a suspension of this process: what they
 * delivered in the meantime has not been read yet. A suspension longer than a blip is an outage
 * (docs/judgement.md#outages).
 */
export class AwakeCaches implements Caches {
  readonly #clock: Clock;
  readonly #caches: Caches;
  readonly #suspensions: Pick<Suspensions, "now">;

  constructor(clock: Clock, caches: Caches, suspensions: Pick<Suspensions, "now">) {
    this.#clock = clock;
    this.#caches = caches;
    this.#suspensions = suspensions;
  }

  informer<T extends KubeObject>(resource: Resource<T>): Cache<T> {
    const cache = this.#caches.informer(resource);
    if (!ofBoards.includes(resourceName(resource))) return cache;
    return withHealth(cache, (watch) => whileAwake(watch, this.#suspensions.now, this.#clock.now()));
  }
}

/** The health of a watch, given what is known about suspensions of this process. */
export function whileAwake(watch: WatchHealth, { from, settledAt, restoredAt }: Suspended, now: Instant): WatchHealth {
  if (settledAt === undefined) return watch;
  const after = { ...watch, restoredAt: laterOf(watch.restoredAt, restoredAt) };
  if (!isAfter(settledAt, now)) return after;
  return { ...after, connected: false, notLiveSince: earlierOf(watch.notLiveSince, from) };
}
