import type { Node } from "../../../api/core.ts";
import { zoneLabel } from "../../../api/topology.ts";
import type { NodeLifecycleSettings } from "../settings.ts";

/** initial: not judged yet. partial: too many boards are not ready. full: no board of the zone is ready. */
export type ZoneState = "initial" | "normal" | "partial" | "full";

export interface ZoneCount {
  readonly ready: number;
  readonly notReady: number;
}

const excluded = "node.kubernetes.io/exclude-disruption";

/** Label names in order of precedence: a beta label that is present overrides the stable one, even if it is empty. */
const names = {
  zone: ["failure-domain.beta.kubernetes.io/zone", zoneLabel],
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

export const noBoards: ZoneCount = { ready: 0, notReady: 0 };

/** Counts one more board by the status of its Ready condition. A board without this condition is not ready. */
export const counting = ({ ready, notReady }: ZoneCount, status: string | undefined): ZoneCount =>
  status === "True" ? { ready: ready + 1, notReady } : { ready, notReady: notReady + 1 };

/**
 * Whether a board counts in its zone. Boards that are expected to come and go have the label `excluded`, with any
 * value.
 */
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
 * Whether enough boards are not ready for evictions to slow down: more than two, and at least the share
 * `unhealthyZone`, in kube-controller-manager's float precision. Under policy `evidence`, two of three or four boards
 * are enough, because otherwise small zones would never be protected.
 */
function isPartial(size: number, notReady: number, { unhealthyZone, policy }: ZoneLimits): boolean {
  if (policy === "evidence" && (size === 3 || size === 4)) return notReady >= 2;
  return notReady > 2 && Math.fround(Math.fround(notReady) / Math.fround(size)) >= Math.fround(unhealthyZone);
}

/** Boards per second that may be tainted in a zone; 0, for example, in a small zone that is partly disrupted. */
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
 * silenced: no zone has a ready board any more. It is more likely that we are cut off than that every board is dead, so
 * all our NoExecute taints are removed and evictions stop. all-silent: still no zone has a ready board, and nothing is
 * done. resumed: some zone has a ready board again; every board gets a fresh grace period. usual: none of these; each
 * zone is treated by its own state.
 */
export type Disruption = "all-silent" | "silenced" | "resumed" | "usual";

/**
 * Compares the zone states of two passes. Zones without a counted board are ignored. A zone that is new in this
 * pass counts as not "full" (no ready board) before.
 */
export function disruption(before: ReadonlyMap<string, ZoneState>, after: ReadonlyMap<string, ZoneState>): Disruption {
  const zones = [...after.keys()];
  const allAreFull = zones.every((zone) => after.get(zone) === "full");
  const allWereFull = zones.every((zone) => before.get(zone) === "full");
  if (allAreFull) return allWereFull ? "all-silent" : "silenced";
  return allWereFull ? "resumed" : "usual";
}
