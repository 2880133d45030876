import { mirrorAnnotation, onSilenceAnnotation } from "../../api/pods.ts";
import {
  entries,
  flag,
  inline,
  list,
  map,
  message,
  number,
  part,
  pointer,
  quantities,
  text,
  time,
} from "./protobuf.ts";

/*
 * Field numbers of k8s.io/api 1.36 (core/v1, meta/v1), which never change their meaning. For Pods, lists only the
 * fields that the cache keeps, and the annotation of mirror pods, which a drain reads. If a trim function is changed to
 * keep another field, add that field here.
 */

const owner = message({
  1: text("kind"),
  3: text("name"),
  4: text("uid"),
  5: text("apiVersion"),
  6: pointer(flag("controller")),
  7: pointer(flag("blockOwnerDeletion")),
});

const metadata = message({
  1: text("name"),
  3: text("namespace"),
  5: text("uid"),
  6: text("resourceVersion"),
  7: number("generation"),
  8: time("creationTimestamp"),
  9: time("deletionTimestamp"),
  10: pointer(number("deletionGracePeriodSeconds")),
  11: map("labels"),
  12: entries("annotations", mirrorAnnotation, onSilenceAnnotation),
  13: list("ownerReferences", owner),
  14: list("finalizers", "text"),
});

const port = message({
  1: text("name"),
  2: number("hostPort"),
  3: number("containerPort"),
  4: text("protocol"),
  5: text("hostIP"),
});

const resources = message({ 2: quantities("requests") });

const container = message({
  1: text("name"),
  6: list("ports", port),
  8: part("resources", resources),
  24: text("restartPolicy"),
});

const toleration = message({
  1: text("key"),
  2: text("operator"),
  3: text("value"),
  4: text("effect"),
  5: pointer(number("tolerationSeconds")),
});

const requirement = message({ 1: text("key"), 2: text("operator"), 3: list("values", "text") });

const term = message({ 1: list("matchExpressions", requirement), 2: list("matchFields", requirement) });

const nodeAffinity = message({
  1: part("requiredDuringSchedulingIgnoredDuringExecution", message({ 1: list("nodeSelectorTerms", term) })),
  2: list(
    "preferredDuringSchedulingIgnoredDuringExecution",
    message({ 1: number("weight"), 2: part("preference", term) }),
  ),
});

const volumeSource = message({ 10: part("persistentVolumeClaim", message({ 1: text("claimName") })) });

const spec = message({
  1: list("volumes", message({ 1: text("name"), 2: inline(volumeSource) })),
  2: list("containers", container),
  3: text("restartPolicy"),
  4: pointer(number("terminationGracePeriodSeconds")),
  7: map("nodeSelector"),
  10: text("nodeName"),
  11: flag("hostNetwork"),
  16: text("hostname"),
  17: text("subdomain"),
  18: part("affinity", message({ 1: part("nodeAffinity", nodeAffinity) })),
  20: list("initContainers", container),
  22: list("tolerations", toleration),
  32: quantities("overhead"),
  38: list("schedulingGates", message({ 1: text("name") })),
  40: part("resources", resources),
});

const condition = message({
  1: text("type"),
  2: text("status"),
  3: time("lastProbeTime"),
  4: time("lastTransitionTime"),
  5: text("reason"),
  6: text("message"),
  7: number("observedGeneration"),
});

const status = message({
  1: text("phase"),
  2: list("conditions", condition),
  4: text("reason"),
  6: text("podIP"),
  12: list("podIPs", message({ 1: text("ip") })),
});

export const podMessage = message({ 1: part("metadata", metadata), 2: part("spec", spec), 3: part("status", status) });
