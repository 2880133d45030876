import { latest } from "../../case.ts";
import { choice, type FormOf, flag, list, number, optional, record, tagged, text, whole } from "../../form.ts";
import { readyWord } from "../../shorthand.ts";
import { remoteTime, startTime } from "../../site/case-time.ts";
import { taintTexts } from "../../site/node-form.ts";

const node = text({ about: "A board, by the name of its Node.", pattern: /^[^/\s]+$/, takes: "a name" });
const pod = text({
  about: "A pod: its name, with its namespace in front if that is not default.",
  examples: ["a", "kube-system/dns"],
});

const nodeForm = record(
  {
    name: node,
    ready: optional(readyWord),
    taints: optional(taintTexts),
    outOfService: optional(flag({ about: "It carries the taint node.kubernetes.io/out-of-service:NoExecute." })),
    cached: optional(
      flag({ about: "false: the API knows it, the cache of the agent does not show it. Default: true." }),
    ),
  },
  { about: "A board; ready is T by default.", examples: [{ name: "n1" }, { name: "n2", cached: false }] },
);

const phase = choice(["Pending", "Running", "Succeeded", "Failed", "Unknown", ""], {
  about: 'Its phase; "" is a pod whose status nobody has written yet. Default: Running.',
});

const podForm = record(
  {
    name: pod,
    node: optional(node),
    phase: optional(phase),
    reason: optional(text({ about: "status.reason, such as Evicted.", examples: ["Evicted"] })),
    createdMs: optional(remoteTime("When it was created, in ms; may be negative. Default 0.")),
    terminating: optional(flag({ about: "It carries a deletionTimestamp." })),
    generation: optional(whole({ about: "metadata.generation. Default: none.", min: 1 })),
    disrupted: optional(
      flag({ about: "It carries the condition DisruptionTarget already, True, as taint eviction writes it." }),
    ),
  },
  { about: "A pod; without a node it is bound to no board.", examples: [{ name: "a", phase: "Failed", node: "n1" }] },
);

export type GivenNode = FormOf<typeof nodeForm>;
export type GivenPod = FormOf<typeof podForm>;

export const config = record(
  {
    threshold: optional(
      whole({
        about:
          "How many pods that have run to their end are kept; 0: all of them. Default 12500; " +
          "--terminated-pod-gc-threshold.",
        min: 0,
        max: 1_000_000,
      }),
    ),
    untilMs: optional(
      number({
        about: "When the case ends, in ms. Default: with its last step, and not before 0.",
        min: 0,
        max: latest,
      }),
    ),
    startTime,
  },
  { about: "Parameters." },
);

export const given = record(
  {
    nodes: optional(list(nodeForm, { about: "The boards when the case begins." })),
    pods: optional(list(podForm, { about: "The pods when the case begins." })),
  },
  { about: "The state before the controller starts, which is at 0 ms, after the events at that instant." },
);

const reasons = ["Conflict", "NotFound", "Forbidden", "InternalError", "Timeout"] as const;

export const event = tagged(
  "do",
  {
    createNode: { node: nodeForm },
    deleteNode: { node },
    hideNode: { node },
    showNode: { node },
    ready: { node, ready: readyWord },
    createPod: { pod: podForm },
    deletePod: { pod },
    phase: { pod, phase, reason: optional(text({ about: "status.reason." })) },
    terminate: { pod },
    cut: {},
    restore: {},
    refuse: {
      pod: optional(pod),
      part: optional(choice(["status", "delete"], { about: "The status patch, or the deletion; both by default." })),
      reason: choice(reasons, { about: "How the API server refuses." }),
      times: optional(whole({ about: "How often; always by default.", min: 1 })),
    },
    refuseReads: { node },
    accept: {},
    look: {},
  },
  {
    createNode: "A Node appears.",
    deleteNode: "A Node is deleted; its pods stay.",
    hideNode: "The cache of the agent loses a Node that goes on to exist.",
    showNode: "The cache shows that Node.",
    ready: "The Ready condition of a Node changes.",
    createPod: "A pod appears.",
    deletePod: "Somebody else deletes a pod, and it is gone.",
    phase: "The phase of a pod changes.",
    terminate: "Somebody deletes a pod, and it takes its time.",
    cut: "The link to the API server breaks: no watch is live, nothing is answered.",
    restore: "The link is there again.",
    refuse: "From now on the API server refuses writes of the agent.",
    refuseReads: "From now on it does not answer when it is asked about this Node.",
    accept: "Everything goes through again.",
    look: "Nothing: the state at that time is in the outcome.",
  },
  { about: "What happens." },
);

export type Event = FormOf<typeof event>;
export type Given = FormOf<typeof given>;
