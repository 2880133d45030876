import type { NodeCondition } from "../../../agent/api/core.ts";
import type { Millis } from "../../../agent/base/clock.ts";
import { isRecord } from "../../../agent/base/json.ts";
import {
  choice,
  either,
  type Form,
  flag,
  json,
  list,
  map,
  optional,
  type RecordOf,
  record,
  text,
  whole,
} from "../form.ts";
import { type ReadyWord, readyWord, statusOf } from "../shorthand.ts";
import { type CaseTime, isWhole, remoteTime } from "./case-time.ts";
import { taintFrom, taintPattern } from "./taint-text.ts";

export const nodeName = text({
  about: "The name of the Node.",
  pattern: /^[^/\s]+$/,
  takes: "a name",
  examples: ["n0"],
});

export const taintTexts = list(
  text({
    about: "key=value:effect, or key:effect. The keys of node.kubernetes.io/ stand without that prefix.",
    pattern: taintPattern,
    takes: "a taint such as unreachable:NoExecute",
  }),
  { about: "Taints.", examples: [["unreachable:NoExecute"], ["maintenance=disk:NoSchedule"]] },
);

export const conditionStatuses = map(choice(["True", "False", "Unknown"], { about: "The status of the condition." }), {
  about: "Conditions besides Ready, by type.",
  examples: [{ MemoryPressure: "False", NetworkUnavailable: "True" }],
});

export const aliveNote =
  "Whether its kubelet renews the Lease of the board, kube-node-lease/<name>, every 10 s from now on, the first time at " +
  "once. false: it is silent.";

/** A renew counter stands for seconds. */
export const largestCounter = 1_000_000_000;

const members = {
  name: nodeName,
  zone: optional(
    text({ about: "Its topology.kubernetes.io/zone label. Default: no label, all such boards are one zone." }),
  ),
  ready: optional(readyWord),
  alive: optional(flag({ about: `${aliveNote} The family says what is the default.` })),
  lease: optional(
    whole({
      about:
        "The renew counter of its Lease; another number later is a renewal. Default: it has no Lease, unless it is alive.",
      min: 0,
      max: largestCounter,
    }),
  ),
  createdMs: optional(remoteTime("When the Node was created, in ms; may be negative. Default -3600000, an hour ago.")),
  heartbeatMs: optional(
    remoteTime("lastHeartbeatTime of its conditions, in ms; a value that is compared, never read as time. Default 0."),
  ),
  transitionMs: optional(remoteTime("lastTransitionTime of its conditions, in ms. Default 0.")),
  conditions: optional(conditionStatuses),
  taints: optional(taintTexts),
  labels: optional(
    map(text({ about: "Value." }), {
      about: "Further labels.",
      examples: [{ "node.kubernetes.io/exclude-disruption": "" }],
    }),
  ),
  unschedulable: optional(flag({ about: "It is cordoned." })),
};

export type ShortNode = RecordOf<typeof members>;
type WholeNode = Readonly<Record<string, unknown>>;
export type GivenNode = ShortNode | WholeNode;

/** A Node, in short form or as printed by `kubectl get node -o json`. */
export const nodeForm: Form<GivenNode> = either(
  [
    {
      ...json({ about: "A whole Node object (v1), known by its metadata. uid and resourceVersion may be missing." }),
      fits: isWhole,
    },
    record(members, { about: "A Node in short." }),
  ],
  { about: "A Node.", examples: [{ name: "n0", zone: "A", ready: "U" }] },
);

/** `undefined`: the object has none. */
export const nameOfNode = (node: GivenNode): unknown =>
  isShortNode(node) ? node.name : isRecord(node.metadata) ? node.metadata.name : undefined;

export const isShortNode = (node: GivenNode): node is ShortNode => !isWhole(node);

/** The full object of a Node given in short form. */
export function nodeFrom(short: ShortNode, time: CaseTime): object {
  const { name, zone, ready = "T", createdMs = -3_600_000, conditions, taints, labels, unschedulable } = short;
  const at = { heartbeatMs: short.heartbeatMs ?? 0, transitionMs: short.transitionMs ?? 0 };
  const zoneLabel = zone === undefined ? [] : [["topology.kubernetes.io/zone", zone] as const];
  return {
    metadata: {
      name,
      creationTimestamp: time.stamp(createdMs),
      labels: Object.fromEntries([...zoneLabel, ...(labels ?? [])]),
    },
    spec: {
      ...(taints && { taints: taints.map((one) => ({ ...taintFrom(one), timeAdded: time.stamp(0) })) }),
      ...(unschedulable !== undefined && { unschedulable }),
    },
    status: { conditions: [...readyCondition(ready, at, time), ...conditionsFrom(conditions ?? [], at, time)] },
  };
}

interface Stamps {
  readonly heartbeatMs: Millis;
  readonly transitionMs: Millis;
}

function readyCondition(word: ReadyWord, stamps: Stamps, time: CaseTime): readonly NodeCondition[] {
  const status = statusOf(word);
  return status === undefined ? [] : conditionsFrom([["Ready", status]], stamps, time);
}

export const conditionsFrom = (
  statuses: Iterable<readonly [type: string, status: string]>,
  { heartbeatMs, transitionMs }: Stamps,
  time: CaseTime,
): readonly NodeCondition[] =>
  [...statuses].map(([type, status]) => ({
    type,
    status,
    lastHeartbeatTime: time.stamp(heartbeatMs),
    lastTransitionTime: time.stamp(transitionMs),
  }));
