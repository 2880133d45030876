import type { KubeObject } from "../../../agent/api/meta.ts";
import { type Resource, resourceName } from "../../../agent/api/resources.ts";
import type { Steps } from "../../../agent/base/steps.ts";
import type { WatchHealth } from "../../../agent/informer/watch-health.ts";
import type { SiteView } from "../../../agent/loop/controller.ts";
import { listerOf } from "../../support/lister.ts";

const now = { mono: 1_000_000, wall: 0 };
const live: WatchHealth = {
  connected: true,
  lastReceived: now,
  lastProof: now,
  restoredAt: undefined,
  notLiveSince: undefined,
};

/** A site that counts the objects that were read, and the steps in which others may have their turn. */
export function countedSite(objects: readonly (readonly [Resource<KubeObject>, readonly KubeObject[]])[]) {
  const reads = { count: 0, steps: 0 };
  const all = new Map(objects.map(([resource, list]) => [resourceName(resource), list]));
  const site: SiteView = {
    now,
    lister<T extends KubeObject>(resource: Resource<T>) {
      // What stands under a resource is of its type.
      const list = (all.get(resourceName(resource)) ?? []) as readonly T[];
      const counted = function* (found: Iterable<T>): IterableIterator<T> {
        for (const one of found) {
          reads.count++;
          yield one;
        }
      };
      const lister = listerOf(resource, () => list);
      return {
        ...lister,
        list: () => counted(lister.list()),
        byIndex: (index: string, value: string) => counted(lister.byIndex(index, value)),
      };
    },
    fetch: async (resource, key) => site.lister(resource).get(key),
    inTurns<T>(steps: Steps<T>): T {
      for (;;) {
        const step = steps.next();
        if (step.done) return step.value;
        reads.steps++;
      }
    },
    watch: () => live,
    position: () => undefined,
  };
  return { site, reads };
}
