import type { Endpoints, Service } from "../../api/core.ts";
import { endpoints, nodes, pods, services } from "../../api/resources.ts";
import type { Millis } from "../../base/clock.ts";
import { type Controller, type Seen, type SiteView, wake } from "../../loop/controller.ts";
import type { SightParts } from "../board-verdicts.ts";
import { outstanding } from "../expectations.ts";
import { isManaged, leaderElection } from "../service/eligible.ts";
import { silenceOf } from "../service/silence.ts";
import { podWake, selectedPods } from "../service/wakes.ts";
import { workloadReads } from "../workloads.ts";
import { decide, deciding, remember, type ServiceState } from "./decide.ts";
import { type EndpointsMemory, noMemory } from "./memory.ts";

export interface EndpointsParts {
  readonly sight: SightParts;
  /** How long pod changes are collected before the sync. */
  readonly batch: Millis;
}

/**
 * Writes the Endpoints of services that select pods: one object with the service's name and the addresses of its pods.
 */
export const endpointsOfServices = ({ sight, batch }: EndpointsParts): Controller<ServiceState, EndpointsMemory> => ({
  name: "endpoints",
  reads: workloadReads.endpoints,
  restsOn: [services, endpoints, pods, nodes],
  wakes: [wake(services, ({ key }: Seen<Service>) => [key]), podWake(batch), wake(endpoints, leftovers)],
  initialMemory: noMemory,
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
    return { kind: "selected", service, pods: selected, endpoints: cached, silence: silenceOf(selected, sight, site) };
  },
  decide,
  deciding,
  remember,
});

/** Asks the API for the service: one that only left our cache keeps its Endpoints. */
async function withoutService(key: string, cached: Endpoints, site: SiteView): Promise<ServiceState | undefined> {
  return (await site.fetch(services, key)) === undefined ? { kind: "gone", endpoints: cached } : undefined;
}

/**
 * Deleted Endpoints are recreated. The initial sweep also finds Endpoints whose service was deleted while no leader
 * watched; those of old leader elections never had a service and are kept.
 */
function leftovers({ key, after, swept }: Seen<Endpoints>): readonly string[] {
  if (after === undefined) return [key];
  return swept === true && after.metadata.annotations?.[leaderElection] === undefined ? [key] : [];
}
