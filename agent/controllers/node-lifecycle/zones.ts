import type { Node } from "../../api/core.ts";
import type { NodeLifecycleSettings } from "./settings.ts";

/** initial: not judged yet. full: no board of the zone is ready. */
export type ZoneState = "initial" | "normal" | "partial" | "full";

export interface ZoneCount {
  readonly ready: number;
  readonly notReady: number;
}

const excluded = "node.kubernetes.io/exclude-disruption";

/** The beta labels come first: if present they win over the stable ones, even when empty. */
const names = {
  zone: ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"],
  region: ["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"],
} as const;

/** All labels that affect the judgement of a board's zone. */
export const zoneLabels: readonly string[] = [...names.zone, ...names.region, excluded];

/** Region and zone of a board as one text, "" if it has neither; as in every version of Kubernetes. */
export function zoneOf({ metadata: { labels = {} } }: Node): string {
  const labelled = ([old, stable]: readonly [string, string]): string => labels[old] ?? labels[stable] ?? "";
  const [zone, region] = [labelled(names.zone), labelled(names.region)];
  // No label can contain the null character, so no two zones share a key.
  return region === "" && zone === "" ? "" : `${region}:\u0000:${zone}`;
}

/** The name shown to people: "east/plant7", "plant7", or "default" for boards without zone labels. */
export const zoneName = (zone: string): string => zone.replace(":\u0000:", "/").replace(/^\//, "") || "default";

export const nobody: ZoneCount = { ready: 0, notReady: 0 };

/** Counts one more board by the status of its Ready condition; without one it is not ready. */
export const counting = ({ ready, notReady }: ZoneCount, status: string | undefined): ZoneCount =>
  status === "True" ? { ready: ready + 1, notReady } : { ready, notReady: notReady + 1 };

/** Boards that are expected to come and go carry this label; its value does not matter. */
export const isCounted = ({ metadata: { labels = {} } }: Node): boolean => !(excluded in labels);

type ZoneLimits = Pick<
  NodeLifecycleSettings,
  "unhealthyZone" | "policy" | "largeZone" | "evictionRate" | "secondaryRate"
>;

export function zoneState({ ready, notReady }: ZoneCount, limits: ZoneLimits): ZoneState {
  if (ready === 0 && notReady > 0) return "full";
  return isPartial(ready + notReady, notReady, limits) ? "partial" : "normal";
}

/**
 * More than two boards, and a share compared with the float precision of kube-controller-manager. Policy `evidence`
 * counts two boards of three or four as partial: small zones would otherwise never be protected.
 */
function isPartial(size: number, notReady: number, { unhealthyZone, policy }: ZoneLimits): boolean {
  if (policy === "evidence" && (size === 3 || size === 4)) return notReady >= 2;
  return notReady > 2 && Math.fround(Math.fround(notReady) / Math.fround(size)) >= Math.fround(unhealthyZone);
}

/** Boards per second that may be tainted in a zone. 0: none, as in a small zone that is partly disrupted. */
export function evictionRate(state: ZoneState, size: number, limits: ZoneLimits): number {
  switch (state) {
    case "initial":
    case "normal":
    case "full":
      return limits.evictionRate;
    case "partial":
      return size > limits.largeZone ? limits.secondaryRate : 0;
    default:
      return state satisfies never;
  }
}

/**
 * The change of a site between two passes.
 *
 * all-silent: no zone has a ready board, as before; nothing is done. silenced: this is new in this pass. We are more
 * likely cut off than every board dead, so all NoExecute taints of ours are removed and evictions stop. resumed: some
 * zone has a ready board again; every board gets a fresh grace period. usual: each zone by itself.
 */
export type Disruption = "all-silent" | "silenced" | "resumed" | "usual";

/** Zones without a counted board are ignored; a zone seen for the first time was not full before. */
export function disruption(before: ReadonlyMap<string, ZoneState>, after: ReadonlyMap<string, ZoneState>): Disruption {
  const zones = [...after.keys()];
  const allAreFull = zones.every((zone) => after.get(zone) === "full");
  const allWereFull = zones.every((zone) => before.get(zone) === "full");
  if (allAreFull) return allWereFull ? "all-silent" : "silenced";
  return allWereFull ? "resumed" : "usual";
}
