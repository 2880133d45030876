import { latest } from "../../case.ts";
import {
  choice,
  either,
  type FormOf,
  flag,
  list,
  nothing,
  number,
  optional,
  record,
  tagged,
  text,
  whole,
} from "../../form.ts";
import { readyWord } from "../../shorthand.ts";
import { startTime } from "../../site/case-time.ts";
import { taintsForm, tolerationsForm } from "./words.ts";

const node = text({ about: "A board, by the name of its Node.", pattern: /^[^/\s]+$/, takes: "a name" });
const pod = text({
  about: "A pod: its name, with its namespace in front if that is not default.",
  examples: ["p1", "kube-system/dns"],
});
const uid = optional(text({ about: "Its uid; by default every object that is created has its own." }));

const nodeForm = record(
  { name: node, taints: optional(taintsForm), ready: optional(readyWord) },
  { about: "A board, with its taints if it has any; it has no Ready condition by default." },
);

const podForm = record(
  {
    name: pod,
    node: optional(node),
    tolerations: optional(tolerationsForm),
    uid,
    terminating: optional(flag({ about: "Somebody has deleted it already, and it is on its way out." })),
    disrupted: optional(flag({ about: "It carries the DisruptionTarget condition that an eviction writes." })),
  },
  { about: "A pod; without a node it is not assigned." },
);

export type GivenNode = FormOf<typeof nodeForm>;
export type GivenPod = FormOf<typeof podForm>;

export const config = record(
  {
    untilMs: optional(
      number({
        about: "When the case ends, in milliseconds; by default an hour after its last step.",
        min: 0,
        max: latest,
      }),
    ),
    judged: optional(
      flag({
        about:
          "The boards are judged here, and none has been examined yet: all of them count as alive. By default nobody " +
          "judges them.",
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

const refused = [
  "Conflict",
  "NotFound",
  "Forbidden",
  "Invalid",
  "TooManyRequests",
  "InternalError",
  "Timeout",
] as const;

export const event = tagged(
  "do",
  {
    taint: { node, taints: taintsForm },
    report: { node, ready: readyWord },
    tolerate: { pod, tolerations: tolerationsForm },
    createNode: { node: nodeForm },
    deleteNode: { node },
    createPod: { pod: podForm },
    deletePod: { pod },
    replacePod: { pod: podForm },
    assign: { pod, node: either([node, nothing({ about: "To no board any more." })], { about: "The board." }) },
    touchPod: { pod },
    touchNode: { node },
    terminate: { pod },
    refuse: {
      pod: optional(pod),
      part: optional(
        choice(["status", "delete"], { about: "The condition that says why, or the deletion; both by default." }),
      ),
      reason: choice(refused, { about: "How the API server refuses." }),
      times: optional(whole({ about: "How often; always by default.", min: 1 })),
    },
    accept: {},
    restart: {
      how: optional(
        choice(["process", "board", "takeover"], {
          about:
            "process (the default): the same process starts again, with what it has stored. board: the board reboots, so " +
            "that its monotonic clock begins anew. takeover: another board leads, which has nothing stored.",
        }),
      ),
      downMs: optional(
        number({ about: "How long nothing runs meanwhile, in milliseconds; 0 by default.", min: 0, max: latest }),
      ),
    },
    look: {},
  },
  {
    taint: "Somebody sets the whole list of taints of a board; an empty list takes them all away.",
    report: "The Ready condition of a board changes.",
    tolerate: "Somebody sets the whole list of tolerations of a pod.",
    createNode: "A Node appears.",
    deleteNode: "A Node is deleted; its pods stay.",
    createPod: "A pod appears.",
    deletePod: "Somebody else deletes a pod, and it is gone.",
    replacePod: "A pod of the same name takes the place of another one, whose deletion nobody saw.",
    assign: "The pod is bound to a board, or to another one.",
    touchPod: "Something else changes about the pod.",
    touchNode: "Something else changes about the Node.",
    terminate: "Somebody else deletes a pod, and it takes its time.",
    refuse: "From now on the API server refuses writes of the agent.",
    accept: "All writes go through again.",
    restart: "The controller stops and starts again.",
    look: "Nothing: the state at that time is in the outcome.",
  },
  { about: "What happens." },
);

export type Event = FormOf<typeof event>;
export type Config = FormOf<typeof config>;
export type Given = FormOf<typeof given>;
