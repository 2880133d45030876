import { withCondition } from "../../api/conditions.ts";
import type { Node, NodeCondition } from "../../api/core.ts";
import { type NodeHealth, readyOf } from "./health.ts";
import { outOfServiceAnnotation } from "./out-of-service/mark.ts";
import { zoneLabels } from "./zones/zones.ts";

/**
 * The fields of a Node that a judgement needs, a third of the cached object, because a pass holds all Nodes of the site
 * at the same time. Labels and conditions are incomplete; before they are written, the whole Node is read again.
 *
 * Each read of the cache creates new strings. Strings that `before` already has are reused.
 */
export function slim({ metadata, spec, status }: Node, before: NodeHealth | undefined): Node {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const labels = Object.entries(metadata.labels ?? {}).filter(([label]) => zoneLabels.includes(label));
  const mark = metadata.annotations?.[outOfServiceAnnotation];
  const ready = readyOf({ metadata, ...(status && { status }) });
  return {
    metadata: {
      name,
      uid: shared(uid, before?.uid),
      resourceVersion,
      // The creationTimestamp is read only for Nodes that never reported a status.
      ...(creationTimestamp !== undefined && !ready && { creationTimestamp }),
      labels: Object.fromEntries(labels),
      ...(mark !== undefined && { annotations: { [outOfServiceAnnotation]: mark } }),
    },
    spec: spec?.taints || spec?.unschedulable !== undefined ? slimSpec(spec) : nothing,
    status: ready ? { conditions: [slimCondition(ready, before?.ready)] } : nothing,
  };
}

/** One shared object for all boards with an empty spec or status. */
const nothing = {};

const slimSpec = ({ taints, unschedulable }: NonNullable<Node["spec"]>): NonNullable<Node["spec"]> => ({
  ...(taints && { taints }),
  ...(unschedulable !== undefined && { unschedulable }),
});

function slimCondition(
  { type, status, lastHeartbeatTime, lastTransitionTime }: NodeCondition,
  before: NodeHealth["ready"],
): NodeCondition {
  const heartbeat = shared(lastHeartbeatTime, before?.heartbeat);
  const transition = shared(lastTransitionTime, before?.transition);
  return {
    type,
    status,
    ...(heartbeat !== undefined && { lastHeartbeatTime: heartbeat }),
    ...(transition !== undefined && { lastTransitionTime: transition }),
  };
}

const shared = <T extends string | undefined>(text: T, before: T | undefined): T =>
  before !== undefined && text === before ? before : text;

/** The cached Node with newer parts applied: resourceVersion, taints, and conditions by type. */
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
