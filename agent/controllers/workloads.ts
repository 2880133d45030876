import type { KubeObject } from "../api/meta.ts";
import {
  controllerRevisions,
  daemonSets,
  endpointSlices,
  endpoints,
  leases,
  nodes,
  pods,
  type Resource,
  services,
} from "../api/resources.ts";
import type { Config } from "../config/settings.ts";

export type WorkloadName = "daemonset" | "daemon-binding" | "endpoints" | "endpoint-slice" | "endpoint-slice-mirroring";

/**
 * What the controllers of workloads read. It stands apart from them because every board has to know it, and only the one
 * that leads loads the controllers themselves.
 */
export const workloadReads: Readonly<Record<WorkloadName, readonly Resource<KubeObject>[]>> = {
  daemonset: [nodes, leases, pods, daemonSets, controllerRevisions],
  "daemon-binding": [nodes, pods, daemonSets],
  endpoints: [services, endpoints, pods, nodes, leases],
  "endpoint-slice": [services, endpointSlices, pods, nodes, leases],
  "endpoint-slice-mirroring": [services, endpoints, endpointSlices],
};

/** Which settings ask for them, in the order in which they begin. */
const workloads: readonly {
  readonly name: WorkloadName;
  readonly setting: keyof Config["controllers"];
  /** Where it is not for every site. */
  readonly when?: (config: Config) => boolean;
}[] = [
  { name: "daemonset", setting: "daemonSet" },
  { name: "daemon-binding", setting: "daemonSet", when: ({ daemonSet: { bind } }) => bind },
  { name: "endpoints", setting: "endpoints" },
  { name: "endpoint-slice", setting: "endpointSlice" },
  { name: "endpoint-slice-mirroring", setting: "endpointSliceMirroring" },
];

/**
 * Those that the configuration asks for. Workloads belong to namespaces: a site that has boards of its own and no
 * namespaces has none (docs/judgement.md#site-scope).
 */
export function workloadsOf(config: Config): readonly WorkloadName[] {
  const { site, controllers } = config;
  if (site.nodeSelector !== undefined && site.namespaceSelector === undefined) return [];
  return workloads
    .filter(({ setting, when }) => controllers[setting].mode === "act" && when?.(config) !== false)
    .map(({ name }) => name);
}
