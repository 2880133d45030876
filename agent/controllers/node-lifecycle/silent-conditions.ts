import { conditionOf } from "../../api/conditions.ts";
import type { Node, NodeCondition } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import type { Grounds } from "../../decisions/grounds.ts";
import { type Action, refTo } from "../../execution/actions.ts";
import { type Examined, needsUnknownCondition } from "./health.ts";
import { zoneOf } from "./zones/zones.ts";

/**
 * Maximum number of boards whose conditions are written per pass. If no board of a site is ready, thousands wait, but
 * the API client could not send more in time.
 */
const maxWrites = 300;

/**
 * The silent boards whose conditions are written next, most urgent first. Boards with pods go first, because their pods
 * are in service and would be evicted. The zones alternate, so that each has a board for its next eviction, and a small
 * zone does not wait behind a large, completely silent one. Within a zone the board with the longest silence goes
 * first.
 */
export function nextToMark(examined: readonly Examined[], hasPods: (board: string) => boolean): readonly Examined[] {
  const ranked: { readonly board: Examined; readonly isEmpty: boolean; readonly rank: number }[] = [];
  for (const isEmpty of [false, true]) {
    const ranks = new Map<string, number>();
    const boards = examined
      .filter((board) => needsUnknownCondition(board) && hasPods(nameOf(board)) !== isEmpty)
      .sort((a, b) => a.health.probe.mono - b.health.probe.mono);
    for (const board of boards) {
      const zone = zoneOf(board.sighting.node);
      const rank = ranks.get(zone) ?? 0;
      ranks.set(zone, rank + 1);
      ranked.push({ board, isEmpty, rank });
    }
  }
  return ranked
    .sort((a, b) => Number(a.isEmpty) - Number(b.isEmpty) || a.rank - b.rank)
    .slice(0, maxWrites)
    .map(({ board }) => board);
}

const nameOf = ({ sighting }: Examined): string => sighting.node.metadata.name;

/** The conditions that kubelets write. NetworkUnavailable is not one of them. */
const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/**
 * The conditions to write for a silent board. `time` is the current time, formatted once per pass: a whole site can
 * fall silent at the same time.
 */
export const silentConditions = (node: Node, time: string): readonly NodeCondition[] =>
  kubeletConditions
    .filter((type) => conditionOf(node.status?.conditions, type)?.status !== "Unknown")
    .map((type) => silentCondition(node, type, time));

function silentCondition(node: Node, type: string, time: string): NodeCondition {
  const before = conditionOf(node.status?.conditions, type);
  const silent = { type, status: "Unknown", lastTransitionTime: time };
  if (before !== undefined) {
    return { ...before, ...silent, reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
  }
  return {
    ...silent,
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
    lastHeartbeatTime: node.metadata.creationTimestamp ?? time,
  };
}

export const writeConditions = (node: Node, conditions: readonly NodeCondition[], grounds: Grounds): Action => ({
  do: "patch",
  target: refTo(nodes, node),
  type: "strategic",
  patch: { status: { conditions } },
  subresource: "status",
  grounds,
});
