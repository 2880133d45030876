import type { EndpointSlice, Service } from "../../api/core.ts";
import { asksForZones } from "../../api/topology.ts";
import { endpointsOf, type SliceContent, type SliceEndpoint, type SlicePlan } from "../slices/slice.ts";
import { contentOf } from "./content.ts";

/** Where a service prefers its traffic to stay; undefined if there is no preference, or an unknown one. */
export type Nearness = "zone" | "node" | undefined;

/**
 * The service's trafficDistribution. The topology-mode annotation overrides it: its hints are computed in zone-hints.ts
 * (docs/kubernetes-rules.md#slice-hints).
 */
export function nearnessOf(service: Service): Nearness {
  if (asksForZones(service)) return undefined;
  switch (service.spec?.trafficDistribution) {
    case "PreferClose":
    case "PreferSameZone":
      return "zone";
    case "PreferSameNode":
      return "node";
    default:
      return undefined;
  }
}

/**
 * Sets hints on the ready endpoints: their own zone and, if requested, their own node. Applies to slices that change
 * anyway, and to unchanged ones only if their hints are wrong.
 */
export function withHints(plan: SlicePlan, unchanged: readonly EndpointSlice[], nearness: Nearness): SlicePlan {
  const hint = (content: SliceContent): SliceContent => ({
    ...content,
    endpoints: content.endpoints.map((endpoint) => hinted(endpoint, nearness)),
  });
  const wrong = unchanged.filter((slice) => endpointsOf(slice).some((endpoint) => isWrong(endpoint, nearness)));
  return {
    create: plan.create.map(hint),
    update: [
      ...plan.update.map((update) => ({ ...update, content: hint(update.content) })),
      ...wrong.map((slice) => ({ slice, content: hint(contentOf(slice)) })),
    ],
    remove: plan.remove,
  };
}

/** Sets the hints of an endpoint. An unready endpoint keeps its old ones, because it gets no traffic. */
function hinted(endpoint: SliceEndpoint, nearness: Nearness): SliceEndpoint {
  if (nearness !== undefined && endpoint.conditions?.ready !== true) return endpoint;
  const { hints: _before, ...rest } = endpoint;
  const { zones, nodes } = hintsFor(endpoint, nearness);
  if (zones.length === 0 && nodes.length === 0) return rest;
  const forZones = zones.map((name) => ({ name }));
  const forNodes = nodes.map((name) => ({ name }));
  return { ...rest, hints: { ...(zones.length > 0 && { forZones }), ...(nodes.length > 0 && { forNodes }) } };
}

function isWrong(endpoint: SliceEndpoint, nearness: Nearness): boolean {
  const { hints } = endpoint;
  if (nearness === undefined) return hints !== undefined;
  if (endpoint.conditions?.ready !== true) return false;
  const { zones, nodes } = hintsFor(endpoint, nearness);
  return !isSameNames(hints?.forZones, zones) || !isSameNames(hints?.forNodes, nodes);
}

const hintsFor = ({ zone, nodeName }: SliceEndpoint, nearness: Nearness) => ({
  zones: nearness === undefined || zone === undefined ? [] : [zone],
  nodes: nearness !== "node" || nodeName === undefined ? [] : [nodeName],
});

const isSameNames = (hints: readonly { readonly name: string }[] | undefined, names: readonly string[]): boolean =>
  (hints ?? []).length === names.length && names.every((name, index) => hints?.[index]?.name === name);
