import { withCondition } from "../../api/conditions.ts";
import type { Node, NodeCondition } from "../../api/core.ts";
import { readyOf } from "./health.ts";
import { zoneLabels } from "./zones.ts";

/**
 * What a judgement needs of a Node: a third of what the cache keeps. A pass holds all Nodes of the site at once, and of most
 * it only says that they are as they were. What is written as a whole (labels, all conditions) is read again where it is
 * needed.
 */
export function slim({ metadata, spec, status }: Node): Node {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const labels = Object.entries(metadata.labels ?? {}).filter(([label]) => zoneLabels.includes(label));
  const ready = readyOf({ metadata, ...(status && { status }) });
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(creationTimestamp !== undefined && { creationTimestamp }),
      labels: Object.fromEntries(labels),
    },
    spec: {
      ...(spec?.taints && { taints: spec.taints }),
      ...(spec?.unschedulable !== undefined && { unschedulable: spec.unschedulable }),
    },
    status: { conditions: ready ? [slimCondition(ready)] : [] },
  };
}

const slimCondition = ({ type, status, lastHeartbeatTime, lastTransitionTime }: NodeCondition): NodeCondition => ({
  type,
  status,
  ...(lastHeartbeatTime !== undefined && { lastHeartbeatTime }),
  ...(lastTransitionTime !== undefined && { lastTransitionTime }),
});

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
