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
 * The resources that the workload controllers read. Kept apart from the controllers because every board needs this
 * list, and only the leader loads the controllers.
 */
export const workloadReads: Readonly<Record<WorkloadName, readonly Resource<KubeObject>[]>> = {
  daemonset: [nodes, leases, pods, daemonSets, controllerRevisions],
  "daemon-binding": [nodes, pods, daemonSets],
  endpoints: [services, endpoints, pods, nodes, leases],
  "endpoint-slice": [services, endpointSlices, pods, nodes, leases],
  "endpoint-slice-mirroring": [services, endpoints, endpointSlices],
};

/** The workload controllers in the order in which they start, each with the setting that enables it. */
const workloads: readonly {
  readonly name: WorkloadName;
  readonly setting: keyof Config["controllers"];
  /** An additional condition; undefined if there is none. */
  readonly when?: (config: Config) => boolean;
}[] = [
  { name: "daemonset", setting: "daemonSet" },
  { name: "daemon-binding", setting: "daemonSet", when: ({ daemonSet: { bind } }) => bind },
  { name: "endpoints", setting: "endpoints" },
  { name: "endpoint-slice", setting: "endpointSlice" },
  { name: "endpoint-slice-mirroring", setting: "endpointSliceMirroring" },
];

/**
 * The workload controllers that the configuration enables. Workloads belong to namespaces: a site with a nodeSelector
 * and no namespaceSelector runs no workload controllers (docs/judgement.md#site-scope).
 */
export function workloadsOf(config: Config): readonly WorkloadName[] {
  const { site, controllers } = config;
  if (site.nodeSelector !== undefined && site.namespaceSelector === undefined) return [];
  return workloads
    .filter(({ setting, when }) => controllers[setting].mode === "act" && when?.(config) !== false)
    .map(({ name }) => name);
}
