import { withCondition } from "../../api/conditions.ts";
import type { Node, NodeCondition } from "../../api/core.ts";
import { type BoardHealth, readyOf } from "./health.ts";
import { zoneLabels } from "./zones.ts";

/**
 * What a judgement needs of a Node: a third of what the cache keeps. A pass holds all Nodes of the site at once, and of most
 * it only says that they are as they were. What is written as a whole (labels, all conditions) is read again where it is
 * needed.
 *
 * Each read of the cache makes texts of its own. Where one says what is already remembered of the board, the remembered text
 * takes its place.
 */
export function slim({ metadata, spec, status }: Node, known: BoardHealth | undefined): Node {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const labels = Object.entries(metadata.labels ?? {}).filter(([label]) => zoneLabels.includes(label));
  const ready = readyOf({ metadata, ...(status && { status }) });
  return {
    metadata: {
      name,
      uid: shared(uid, known?.uid),
      resourceVersion,
      // It only says when a Node that never said how it is was made.
      ...(creationTimestamp !== undefined && !ready && { creationTimestamp }),
      labels: Object.fromEntries(labels),
    },
    spec: spec?.taints || spec?.unschedulable !== undefined ? slimSpec(spec) : nothing,
    status: ready ? { conditions: [slimCondition(ready, known?.ready)] } : nothing,
  };
}

/** Of nearly all boards of a site that is well. */
const nothing = {};

const slimSpec = ({ taints, unschedulable }: NonNullable<Node["spec"]>): NonNullable<Node["spec"]> => ({
  ...(taints && { taints }),
  ...(unschedulable !== undefined && { unschedulable }),
});

function slimCondition(
  { type, status, lastHeartbeatTime, lastTransitionTime }: NodeCondition,
  known: BoardHealth["ready"],
): NodeCondition {
  const heartbeat = shared(lastHeartbeatTime, known?.heartbeat);
  const transition = shared(lastTransitionTime, known?.transition);
  return {
    type,
    status,
    ...(heartbeat !== undefined && { lastHeartbeatTime: heartbeat }),
    ...(transition !== undefined && { lastTransitionTime: transition }),
  };
}

const shared = <T extends string | undefined>(text: T, known: T | undefined): T =>
  known !== undefined && text === known ? known : text;

/** The cached Node with what we know to be newer than the cache: version, taints, and conditions by their type. */
export function overlaid(cached: Node, newer: Node): Node {
  const conditions = (newer.status?.conditions ?? []).reduce<readonly NodeCondition[]>(
    withCondition,
    cached.status?.conditions ?? [],
  );
  return {
    ...cached,
    metadata: { ...cached.metadata, resourceVersion: newer.metadata.resourceVersion },
    spec: { ...cached.spec, taints: newer.spec?.taints ?? [] },
    status: { ...cached.status, conditions },
  };
}
