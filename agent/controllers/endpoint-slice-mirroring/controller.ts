import type { Endpoints, Service } from "../../api/core.ts";
import { endpointSlices, endpoints, services } from "../../api/resources.ts";
import { type Controller, enqueueOn, type ObjectChange, type SiteView } from "../../loop/controller.ts";
import { managedBy } from "../endpoints/decide.ts";
import { outstanding } from "../expectations.ts";
import { leaderElection } from "../service/eligible.ts";
import { enqueueOnSlice, slicesOf } from "../slices/enqueue.ts";
import { noMemory, type SliceMemory } from "../slices/memory.ts";
import { workloadReads } from "../workloads.ts";
import { decide, decideAfterWrites, decideInSteps, type MirrorState } from "./decide.ts";
import { controllerName } from "./mirrored.ts";

export interface MirroringOptions {
  /** Maximum number of addresses mirrored per subset. */
  readonly most: number;
}

/** Mirrors Endpoints that were written by hand, for a service without a selector, as EndpointSlices. */
export const endpointSliceMirroring = ({ most }: MirroringOptions): Controller<MirrorState, SliceMemory> => ({
  name: "endpoint-slice-mirroring",
  reads: workloadReads["endpoint-slice-mirroring"],
  restsOn: [services, endpoints, endpointSlices],
  mappings: [
    enqueueOn(services, keysOfService),
    enqueueOn(endpoints, keysOfEndpoints),
    enqueueOnSlice(controllerName, 0),
  ],
  initialMemory: noMemory,
  async observe(key, site, memory) {
    const expected = await outstanding(memory.expected, endpointSlices, site);
    if (expected.size > 0) return { kind: "behind", expected };
    const slices = await site.inTurns(slicesOf(key, controllerName, site));
    const [service, made] = [site.lister(services).get(key), site.lister(endpoints).get(key)];
    if (made && isMirrorable(made) && service && service.spec?.selector === undefined) {
      return { kind: "mirrored", endpoints: made, slices };
    }
    if (slices.length === 0) return undefined;
    // Endpoints remain mirrored if they, or their service, have merely left our cache.
    const isInApi =
      (made === undefined && (await site.fetch(endpoints, key)) !== undefined) ||
      (service === undefined && (await site.fetch(services, key)) !== undefined);
    return isInApi ? undefined : { kind: "left", slices };
  },
  decide: (state, memory) => decide(state, memory, most),
  decideInSteps: (state, memory) => decideInSteps(state, memory, most),
  decideAfterWrites,
});

const skipLabel = "endpointslice.kubernetes.io/skip-mirror";

const isMirrorable = ({ metadata: { labels, annotations } }: Endpoints): boolean =>
  labels?.[skipLabel] !== "true" && annotations?.[leaderElection] === undefined;

/** Services with a selector have their own slices, so only the addition or removal of a selector matters here. */
function keysOfService({ key, before, after }: ObjectChange<Service>): readonly string[] {
  const [had, has] = [before?.spec?.selector !== undefined, after?.spec?.selector !== undefined];
  if (before === undefined || after === undefined) return (before ? had : has) ? [] : [key];
  return had === has ? [] : [key];
}

/**
 * Endpoints that a controller writes for a service with a selector enqueue nothing, because they are not mirrored. For
 * a service without a selector, the managed-by label is ignored, because the service may have lost its selector, or its
 * Endpoints may have been applied from a copy of controller-written ones.
 */
function keysOfEndpoints({ key, before, after, resync }: ObjectChange<Endpoints>, site: SiteView): readonly string[] {
  const states = [before, after].flatMap((one) => one ?? []);
  const isWritten = states.every(({ metadata: { labels } }) => labels?.[managedBy.label] === managedBy.us);
  if (isWritten && !resync && site.lister(services).get(key)?.spec?.selector !== undefined) return [];
  return states.some(isMirrorable) ? [key] : [];
}
