import { withCondition } from "../../api/conditions.ts";
import type { Node, NodeCondition } from "../../api/core.ts";
import { type BoardHealth, readyOf } from "./health.ts";
import { zoneLabels } from "./zones.ts";

/**
 * The fields of a Node that a judgement needs: a third of the cached object. A pass holds all Nodes of the site at
 * once, and most of them are unchanged. Fields written as a whole (labels, all conditions) are read again when needed.
 *
 * Each read of the cache creates new strings. Where one equals a string already in memory, that one is used instead.
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
      // Only read for Nodes that never reported a status.
      ...(creationTimestamp !== undefined && !ready && { creationTimestamp }),
      labels: Object.fromEntries(labels),
    },
    spec: spec?.taints || spec?.unschedulable !== undefined ? slimSpec(spec) : nothing,
    status: ready ? { conditions: [slimCondition(ready, known?.ready)] } : nothing,
  };
}

/** For nearly all boards of a healthy site. */
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

/** The cached Node with newer parts applied: version, taints, and conditions by type. */
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
