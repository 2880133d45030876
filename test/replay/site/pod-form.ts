import { isRecord } from "../../../agent/base/json.ts";
import { choice, either, type Form, flag, json, list, optional, type RecordOf, record, text } from "../form.ts";
import { statusOf } from "../shorthand.ts";
import { isWhole } from "./case-time.ts";
import { nodeName } from "./node-form.ts";

const members = {
  name: text({ about: "The name of the pod.", pattern: /^[^/\s]+$/, takes: "a name", examples: ["p1"] }),
  namespace: optional(text({ about: "Its namespace. Default: default." })),
  node: optional(nodeName),
  ready: optional(
    choice(["T", "F", "-"], { about: "Its Ready condition: T True, F False, - none at all. Default T." }),
  ),
  terminating: optional(flag({ about: "It carries a deletionTimestamp." })),
  tolerations: optional(
    list(json({ about: "A toleration as in a Pod." }), {
      about: "Its tolerations.",
      examples: [[{ key: "node.kubernetes.io/unreachable", operator: "Exists", tolerationSeconds: 300 }]],
    }),
  ),
};

export type ShortPod = RecordOf<typeof members>;
type WholePod = Readonly<Record<string, unknown>>;
export type GivenPod = ShortPod | WholePod;

/** A Pod, in short form or as printed by `kubectl get pod -o json`. */
export const podForm: Form<GivenPod> = either(
  [
    {
      ...json({ about: "A whole Pod object (v1), known by its metadata. uid and resourceVersion may be missing." }),
      fits: isWhole,
    },
    record(members, { about: "A Pod in short." }),
  ],
  { about: "A Pod.", examples: [{ name: "p1", node: "n0" }] },
);

/** "namespace/name". */
export function nameOfPod(pod: GivenPod): string {
  const { name, namespace = "default" } = isShortPod(pod) ? pod : isRecord(pod.metadata) ? pod.metadata : {};
  return `${namespace}/${name}`;
}

export const isShortPod = (pod: GivenPod): pod is ShortPod => !isWhole(pod);

/** The full object of a running Pod given in short form. `stamp`: its deletion timestamp, if it is terminating. */
export function podFrom(
  { name, namespace = "default", node, ready = "T", terminating, tolerations }: ShortPod,
  stamp: string,
): object {
  const status = statusOf(ready);
  return {
    metadata: { name, namespace, ...(terminating && { deletionTimestamp: stamp }) },
    spec: {
      containers: [],
      ...(node !== undefined && { nodeName: node }),
      ...(tolerations && { tolerations }),
    },
    status: { phase: "Running", conditions: status === undefined ? [] : [{ type: "Ready", status }] },
  };
}
