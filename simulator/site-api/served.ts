import {
  configMapColumns,
  endpointSliceColumns,
  endpointsColumns,
  eventColumns,
  leaseColumns,
  namespaceColumns,
  nodeColumns,
  secretColumns,
  serviceColumns,
} from "./columns/core.ts";
import { podColumns } from "./columns/pods.ts";
import {
  controllerRevisionColumns,
  daemonSetColumns,
  deploymentColumns,
  disruptionBudgetColumns,
  replicaSetColumns,
} from "./columns/workloads.ts";
import { disruptionBudgetRules } from "./kinds/budgets.ts";
import {
  configMapRules,
  eventRules,
  leaseRules,
  namespaceRules,
  nodeRules,
  secretRules,
  serviceRules,
} from "./kinds/core.ts";
import { endpointSliceRules, endpointsRules } from "./kinds/endpoints.ts";
import { podGracePeriod, podRules } from "./kinds/pods.ts";
import { daemonSetRules, deploymentRules, replicaSetRules, statefulSetRules } from "./kinds/workloads.ts";
import type { SelectableField, ServedKind, Subresource, Traits } from "./served-kind.ts";

function served(
  apiVersion: string,
  kind: string,
  plural: string,
  scope: "Cluster" | "Namespaced",
  traits: Traits = {},
): ServedKind {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const singular = kind.toLowerCase();
  return { group, version, kind, plural, singular, namespaced: scope === "Namespaced", ...traits };
}

const podSubresources: readonly Subresource[] = [
  { name: "attach", kind: "PodAttachOptions", verbs: ["create", "get"] },
  { name: "binding", kind: "Binding", verbs: ["create"] },
  { name: "eviction", kind: "Eviction", group: "policy", version: "v1", verbs: ["create"] },
  { name: "exec", kind: "PodExecOptions", verbs: ["create", "get"] },
  { name: "log", kind: "Pod", verbs: ["get"] },
  { name: "portforward", kind: "PodPortForwardOptions", verbs: ["create", "get"] },
];

const named = (...names: readonly string[]): readonly SelectableField[] => names.map((name) => ({ name }));

const podFields: readonly SelectableField[] = [
  ...named(
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ),
  { name: "spec.hostNetwork", absent: "false" },
];
const eventFields: readonly SelectableField[] = [
  ...named(
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "type",
  ),
  { name: "source", path: "source.component" },
];
const all = ["all"];
/**
 * A kind that has no controllers on a site. It is stored, so that tools that request it work; `kubectl apply --prune`
 * fails if one of the kinds that it lists by default is not served.
 */
const inert: Traits = { categories: all, status: true, generation: true, inert: true };

export const eventsServed = served("v1", "Event", "events", "Namespaced", {
  shortNames: ["ev"],
  createOnUpdate: true,
  fields: eventFields,
  columns: eventColumns,
  rules: eventRules,
});

export const namespacesServed = served("v1", "Namespace", "namespaces", "Cluster", {
  shortNames: ["ns"],
  names: "label",
  status: true,
  fields: named("status.phase"),
  columns: namespaceColumns,
  rules: namespaceRules,
});

export const budgetsServed = served("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "Namespaced", {
  shortNames: ["pdb"],
  status: true,
  generation: true,
  columns: disruptionBudgetColumns,
  rules: disruptionBudgetRules,
  unattended:
    "no controller of this embedded site judges disruption budgets: until something writes the status of the budget, the pods that the budget selects are not evicted",
});

const podsServed = served("v1", "Pod", "pods", "Namespaced", {
  shortNames: ["po"],
  categories: all,
  status: true,
  generation: true,
  returnsDeleted: true,
  gracePeriod: podGracePeriod,
  fields: podFields,
  columns: podColumns,
  rules: podRules,
  subresources: podSubresources,
});

/** All kinds served. A new kind needs one line; a kind without traits is stored and shown unchanged. */
export const servedKinds: readonly ServedKind[] = [
  served("v1", "ConfigMap", "configmaps", "Namespaced", {
    shortNames: ["cm"],
    columns: configMapColumns,
    rules: configMapRules,
  }),
  served("v1", "Endpoints", "endpoints", "Namespaced", {
    shortNames: ["ep"],
    createOnUpdate: true,
    columns: endpointsColumns,
    rules: endpointsRules,
  }),
  eventsServed,
  namespacesServed,
  served("v1", "Node", "nodes", "Cluster", {
    shortNames: ["no"],
    status: true,
    fields: [{ name: "spec.unschedulable", absent: "false" }],
    columns: nodeColumns,
    rules: nodeRules,
  }),
  podsServed,
  served("v1", "PersistentVolume", "persistentvolumes", "Cluster", { shortNames: ["pv"], status: true }),
  served("v1", "PersistentVolumeClaim", "persistentvolumeclaims", "Namespaced", { shortNames: ["pvc"], status: true }),
  served("v1", "ReplicationController", "replicationcontrollers", "Namespaced", { ...inert, shortNames: ["rc"] }),
  served("v1", "Secret", "secrets", "Namespaced", {
    fields: named("type"),
    columns: secretColumns,
    rules: secretRules,
  }),
  served("v1", "ServiceAccount", "serviceaccounts", "Namespaced", { shortNames: ["sa"], returnsDeleted: true }),
  served("v1", "Service", "services", "Namespaced", {
    shortNames: ["svc"],
    categories: all,
    names: "label",
    status: true,
    createOnUpdate: true,
    returnsDeleted: true,
    fields: named("spec.clusterIP", "spec.type"),
    columns: serviceColumns,
    rules: serviceRules,
  }),
  served("apps/v1", "ControllerRevision", "controllerrevisions", "Namespaced", { columns: controllerRevisionColumns }),
  served("apps/v1", "DaemonSet", "daemonsets", "Namespaced", {
    categories: all,
    status: true,
    generation: true,
    shortNames: ["ds"],
    columns: daemonSetColumns,
    rules: daemonSetRules,
  }),
  served("apps/v1", "Deployment", "deployments", "Namespaced", {
    ...inert,
    shortNames: ["deploy"],
    columns: deploymentColumns,
    rules: deploymentRules,
  }),
  served("apps/v1", "ReplicaSet", "replicasets", "Namespaced", {
    categories: all,
    status: true,
    generation: true,
    shortNames: ["rs"],
    fields: [{ name: "status.replicas", absent: "0" }],
    subresources: [
      { name: "scale", kind: "Scale", group: "autoscaling", version: "v1", verbs: ["get", "patch", "update"] },
    ],
    columns: replicaSetColumns,
    rules: replicaSetRules,
  }),
  served("apps/v1", "StatefulSet", "statefulsets", "Namespaced", {
    ...inert,
    shortNames: ["sts"],
    rules: statefulSetRules,
  }),
  served("batch/v1", "CronJob", "cronjobs", "Namespaced", { ...inert, shortNames: ["cj"] }),
  served("batch/v1", "Job", "jobs", "Namespaced", inert),
  served("coordination.k8s.io/v1", "Lease", "leases", "Namespaced", {
    createOnUpdate: true,
    versionedUpdate: true,
    columns: leaseColumns,
    rules: leaseRules,
  }),
  served("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", "Namespaced", {
    generation: true,
    columns: endpointSliceColumns,
    rules: endpointSliceRules,
  }),
  served("networking.k8s.io/v1", "Ingress", "ingresses", "Namespaced", {
    shortNames: ["ing"],
    status: true,
  }),
  budgetsServed,
];
