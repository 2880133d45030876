import type { Pod } from "../api/core.ts";

type Container = NonNullable<Pod["spec"]>["containers"][number];

/**
 * A copy of the pod without the parts that its author can make large: labels, tolerations, affinity, and all ports
 * except those in `portNames`. A pass holds all pods of a service or a board at the same time, and each may be as large
 * as the API server admits.
 */
export function barePod({ metadata, spec, status }: Pod, portNames: ReadonlySet<string> = new Set()): Pod {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp } = metadata;
  const { nodeName, hostname, subdomain, containers, initContainers } = spec ?? {};
  const bare = (container: Container): readonly Container[] => {
    const { name: called, restartPolicy, ports } = container;
    const kept = ports?.filter((port) => port.name !== undefined && portNames.has(port.name)) ?? [];
    if (kept.length === 0) return [];
    return [{ name: called, ...(restartPolicy !== undefined && { restartPolicy }), ports: kept }];
  };
  const initial = (initContainers ?? []).flatMap(bare);
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      ...(namespace !== undefined && { namespace }),
      ...(generation !== undefined && { generation }),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
    spec: {
      ...(nodeName !== undefined && { nodeName }),
      ...(hostname !== undefined && { hostname }),
      ...(subdomain !== undefined && { subdomain }),
      containers: (containers ?? []).flatMap(bare),
      ...(initial.length > 0 && { initContainers: initial }),
    },
    ...(status && { status }),
  };
}
