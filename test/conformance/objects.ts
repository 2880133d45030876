import type { JsonObject } from "../../agent/api/json.ts";

/** The resources that the rules use, with their paths. */
const groups: Readonly<Record<string, string>> = {
  configmaps: "api/v1",
  events: "api/v1",
  namespaces: "api/v1",
  nodes: "api/v1",
  pods: "api/v1",
  services: "api/v1",
  secrets: "api/v1",
  daemonsets: "apis/apps/v1",
  deployments: "apis/apps/v1",
  leases: "apis/coordination.k8s.io/v1",
  poddisruptionbudgets: "apis/policy/v1",
};

/** "/api/v1/nodes/pi-1/status", "/api/v1/namespaces/one/pods"; without a namespace, all of them. */
export function at(resource: string, namespace?: string, ...parts: readonly string[]): string {
  const group = groups[resource];
  if (group === undefined) throw new Error(`the rules know no ${resource}`);
  const within = namespace === undefined ? [] : ["namespaces", namespace];
  return `/${[group, ...within, resource, ...parts].join("/")}`;
}

export const mergePatch = "application/merge-patch+json";
export const jsonPatch = "application/json-patch+json";
export const strategicPatch = "application/strategic-merge-patch+json";
export const applyPatch = "application/apply-patch+yaml";
export const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";
export const partialType = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
export const partialListType = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/** A board that no cluster has: no kubelet runs or removes the pods that are bound to it. */
export const nowhere = "conformance-nowhere";

export const configMap = (name: string, data: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name, ...metadata },
  data,
});

/** A pod that no scheduler binds. */
export const pod = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name, ...metadata },
  spec: { schedulerName: "conformance-none", containers: [{ name: "main", image: "busybox:1" }], ...spec },
});

/** A pod that is bound to a board, whose kubelet would have to finish it. */
export const boundPod = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject =>
  pod(name, { nodeName: nowhere, ...spec }, metadata);

export const node = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  kind: "Node",
  apiVersion: "v1",
  metadata: { name, ...metadata },
  spec,
});

export const lease = (name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject => ({
  kind: "Lease",
  apiVersion: "coordination.k8s.io/v1",
  metadata: { name, ...metadata },
  spec,
});

export const event = (name: string, namespace: string, about = "pi-1"): JsonObject => ({
  kind: "Event",
  apiVersion: "v1",
  metadata: { name },
  involvedObject: { kind: "Pod", apiVersion: "v1", name: about, namespace },
  reason: "Tried",
  message: "a rule was checked",
  type: "Normal",
});

const template = (app: string): JsonObject => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "main", image: "busybox:1" }] },
});

export const daemonSet = (name: string, spec: JsonObject = {}): JsonObject => ({
  kind: "DaemonSet",
  apiVersion: "apps/v1",
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      ...template(name),
      spec: { nodeSelector: { nowhere: "true" }, containers: [{ name: "main", image: "busybox:1" }] },
    },
    ...spec,
  },
});

export const deployment = (name: string, spec: JsonObject = {}): JsonObject => ({
  kind: "Deployment",
  apiVersion: "apps/v1",
  metadata: { name },
  spec: { replicas: 0, selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});

export const disruptionBudget = (name: string, matchLabels: JsonObject, spec: JsonObject = {}): JsonObject => ({
  kind: "PodDisruptionBudget",
  apiVersion: "policy/v1",
  metadata: { name },
  spec: { selector: { matchLabels }, minAvailable: 1, ...spec },
});
