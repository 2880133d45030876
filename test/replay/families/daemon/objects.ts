import type { ControllerRevision, DaemonSet } from "../../../../agent/api/core.ts";
import { pinTo } from "../../../../agent/api/node-affinity.ts";
import { controlledBy } from "../../../../agent/api/owners.ts";
import { daemonSets } from "../../../../agent/api/resources.ts";
import type { Millis } from "../../../../agent/base/clock.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { hashLabel } from "../../../../agent/controllers/daemonset/daemon-pod.ts";
import { presentHash, revisionData } from "../../../../agent/controllers/daemonset/history.ts";
import { statusOf } from "../../shorthand.ts";
import type { CaseTime } from "../../site/case-time.ts";
import type { GivenPod, GivenRevision, GivenSet } from "./forms.ts";

const hourAgo: Millis = -3_600_000;
const elsewhere = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "another", uid: "uid-another", controller: true };

/** The hash that pods of the old template carry. */
export const oldHash = "old";

/** The full spec of a set given in short form. */
export function setSpec(short: GivenSet): NonNullable<DaemonSet["spec"]> {
  const { maxUnavailable = short.maxSurge ? 0 : 1, maxSurge = 0, minReadySeconds, revisionHistoryLimit = 10 } = short;
  const { nodeName, nodeSelector, affinity, tolerations, hostNetwork, image = "agent:1" } = short;
  const rollingUpdate = { maxUnavailable, maxSurge };
  const spec = {
    selector: { matchLabels: { app: "agent" } },
    updateStrategy: short.update === "OnDelete" ? { type: "OnDelete" } : { type: "RollingUpdate", rollingUpdate },
    revisionHistoryLimit,
    ...(minReadySeconds !== undefined && { minReadySeconds }),
    template: {
      metadata: { labels: { app: "agent" } },
      spec: {
        containers: [{ name: "main", image }],
        ...(nodeName !== undefined && { nodeName }),
        ...(nodeSelector && { nodeSelector: Object.fromEntries(nodeSelector) }),
        ...(affinity && { affinity }),
        // Checked where it is put among the objects of the case.
        ...(tolerations && { tolerations: tolerations as readonly object[] }),
        ...(hostNetwork !== undefined && { hostNetwork }),
      },
    },
  };
  return spec;
}

/** The full object of a pod given in short form. `number`: its position among the pods. */
export function podObject(pod: GivenPod, set: DaemonSet, number: number, time: CaseTime): object {
  const { name = `pod-${number}`, node, bound = node !== undefined, of = "new", owner = "set", labels } = pod;
  const { phase = bound ? "Running" : "Pending", createdMs = hourAgo, readyMs = hourAgo } = pod;
  const { ready = phase === "Running" ? "T" : "-" } = pod;
  const hash = { new: atOnce(presentHash(set)), old: oldHash, other: "unheard-of" }[of];
  return {
    metadata: {
      name,
      namespace: "default",
      creationTimestamp: time.stamp(createdMs),
      labels: { app: "agent", [hashLabel]: hash, ...Object.fromEntries(labels ?? []) },
      ...(owner !== "none" && { ownerReferences: [owner === "set" ? controlledBy(daemonSets, set) : elsewhere] }),
      ...(pod.terminating && { deletionTimestamp: time.stamp(0) }),
    },
    spec: {
      containers: [],
      ...(bound && node !== undefined && { nodeName: node }),
      ...(node !== undefined && { affinity: pinTo(undefined, node) }),
    },
    status: { phase, conditions: conditions(ready, time.stamp(readyMs)) },
  };
}

export function conditions(ready: "T" | "F" | "-", at: string): readonly object[] {
  const status = statusOf(ready);
  return status === undefined ? [] : [{ type: "Ready", status, lastTransitionTime: at }];
}

export function revisionObject(
  { name, revision, of, hash = name, owner = "set" }: GivenRevision,
  set: DaemonSet,
): object {
  return {
    metadata: {
      name,
      namespace: "default",
      labels: { app: "agent", ...(hash !== "" && { [hashLabel]: hash }) },
      ...(owner !== "none" && { ownerReferences: [owner === "set" ? controlledBy(daemonSets, set) : elsewhere] }),
    },
    data: atOnce(revisionData(withImage(set, of ?? `image of ${name}`))),
    revision,
  };
}

/** The earlier revisions of a set to which its pods refer. */
export function usualRevisions(set: DaemonSet, hasOld: boolean): readonly object[] {
  const hash = atOnce(presentHash(set));
  const present = { metadata: { name: `agent-${hash}` }, revision: hasOld ? 2 : 1, data: atOnce(revisionData(set)) };
  const old = { metadata: { name: "agent-old" }, revision: 1, data: atOnce(revisionData(withImage(set, "agent:old"))) };
  const of = (
    object: Pick<ControllerRevision, "data" | "revision"> & { metadata: { name: string } },
    label: string,
  ) => ({
    ...object,
    metadata: {
      ...object.metadata,
      namespace: "default",
      labels: { app: "agent", [hashLabel]: label },
      ownerReferences: [controlledBy(daemonSets, set)],
    },
  });
  return [of(present, hash), ...(hasOld ? [of(old, oldHash)] : [])];
}

function withImage(set: DaemonSet, image: string): DaemonSet {
  const { spec } = set;
  if (spec?.template.spec === undefined) return set;
  const containers = [{ name: "main", image }];
  return { ...set, spec: { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, containers } } } };
}
