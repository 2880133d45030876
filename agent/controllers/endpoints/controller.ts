import type { Endpoints, Service } from "../../api/core.ts";
import { endpoints, nodes, pods, services } from "../../api/resources.ts";
import type { Millis } from "../../base/clock.ts";
import { type Controller, enqueueOn, type ObjectChange, type SiteView } from "../../loop/controller.ts";
import type { BoardVerdictDeps } from "../board-verdicts.ts";
import { outstanding } from "../expectations.ts";
import { isManaged, leaderElection } from "../service/eligible.ts";
import { isLargeService } from "../service/large-service.ts";
import { enqueueOnPod, selectedPods } from "../service/mappings.ts";
import { silenceOf } from "../service/silence.ts";
import { workloadReads } from "../workloads.ts";
import { decide, decideAfterWrites, decideInSteps, type EndpointsState } from "./decide.ts";
import { type EndpointsMemory, noMemory } from "./memory.ts";

export interface EndpointsDeps {
  readonly verdictDeps: BoardVerdictDeps;
  /** How long pod changes are collected before the sync. */
  readonly batch: Millis;
}

/**
 * Writes the Endpoints of services that select pods: one object with the service's name and the addresses of its pods.
 */
export const endpointsOfServices = ({
  verdictDeps,
  batch,
}: EndpointsDeps): Controller<EndpointsState, EndpointsMemory> => ({
  name: "endpoints",
  reads: workloadReads.endpoints,
  restsOn: [services, endpoints, pods, nodes],
  mappings: [
    enqueueOn(services, ({ key }: ObjectChange<Service>) => [key]),
    enqueueOnPod(batch),
    enqueueOn(endpoints, leftovers),
  ],
  initialMemory: noMemory,
  isLarge: isLargeService,
  async observe(key, site, memory) {
    const expected = await outstanding(memory.expected, endpoints, site);
    const service = site.lister(services).get(key);
    const cached = site.lister(endpoints).get(key);
    if (service === undefined) {
      if (cached !== undefined) return await withoutService(key, cached, site);
      return expected.size > 0 ? { kind: "behind", expected } : undefined;
    }
    if (!isManaged(service)) return { kind: "foreign" };
    if (expected.size > 0) return { kind: "behind", expected };
    const selected = await site.inTurns(selectedPods(service, site));
    return {
      kind: "selected",
      service,
      pods: selected,
      endpoints: cached,
      silence: silenceOf(selected, verdictDeps, site),
    };
  },
  decide,
  decideInSteps,
  decideAfterWrites,
});

/** Reads the service from the API: if it has merely left our cache, its Endpoints are kept. */
async function withoutService(key: string, cached: Endpoints, site: SiteView): Promise<EndpointsState | undefined> {
  return (await site.fetch(services, key)) === undefined ? { kind: "gone", endpoints: cached } : undefined;
}

/**
 * Deleted Endpoints are recreated. The initial resync also finds Endpoints whose service was deleted while no leader
 * was watching. Endpoints of old leader elections never had a service, and are kept.
 */
function leftovers({ key, after, resync }: ObjectChange<Endpoints>): readonly string[] {
  if (after === undefined) return [key];
  return resync === "first" && after.metadata.annotations?.[leaderElection] === undefined ? [key] : [];
}
