import type { Node } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import { zoneName, zoneOf } from "../../controllers/node-lifecycle/zones/zones.ts";
import type { HoldScope } from "../../holds/holds.ts";
import type { Caches } from "../../loop/site-view.ts";
import { type Effect, type FreezeScope, refused } from "../desk/controls.ts";

/** The boards of each zone, by the zone's name in the status. */
function zonesOf(caches: Caches): ReadonlyMap<string, readonly Node[]> {
  const zones = new Map<string, Node[]>();
  for (const node of caches.informer(nodes).lister.list()) {
    const zone = zoneName(zoneOf(node));
    const members = zones.get(zone) ?? [];
    zones.set(zone, members);
    members.push(node);
  }
  return zones;
}

/** Resolves a zone name; "plant7" stands for "east/plant7" if no other region has a zone of that name. */
export function zoneNamed(
  name: string,
  caches: Caches,
): { readonly zone: string; readonly boards: readonly Node[] } | Effect {
  const zones = zonesOf(caches);
  const exact = zones.get(name);
  if (exact) return { zone: name, boards: exact };
  const found = [...zones].filter(([zone]) => zone.endsWith(`/${name}`));
  const [first] = found;
  if (first && found.length === 1) return { zone: first[0], boards: first[1] };
  const known = [...zones.keys()].slice(0, maxNamed);
  return first
    ? refused(422, "ambiguous-zone", `several regions have a zone ${name}`, { known: found.map(([zone]) => zone) })
    : refused(404, "unknown-zone", `no board of this site is in zone ${name}`, { known });
}

const maxNamed = 50;

export function boardNamed(name: string, caches: Caches): Node | Effect {
  return (
    caches.informer(nodes).lister.get(name) ??
    refused(404, "unknown-board", `${name} is not a board of this site`, { board: name })
  );
}

/** The scope of a freeze, with the zone's full name. */
export function scopeNamed(scope: FreezeScope, caches: Caches): HoldScope | Effect {
  if (scope.scope === "site") return { scope: "site" };
  if (scope.scope === "board") {
    const board = boardNamed(scope.target, caches);
    return isEffect(board) ? board : scope;
  }
  const found = zoneNamed(scope.target, caches);
  return isEffect(found) ? found : { scope: "zone", target: found.zone };
}

export const isEffect = (value: object): value is Effect => "outcome" in value;
