import { latest } from "../../case.ts";
import {
  choice,
  either,
  type FormOf,
  flag,
  json,
  list,
  map,
  number,
  optional,
  record,
  tagged,
  text,
  whole,
} from "../../form.ts";
import { startTime } from "../../site/case-time.ts";
import { nodeForm, nodeName } from "../../site/node-form.ts";

/** "agent@n1": the set's pod on that board or created for it; or the name of a pod. */
export const podRef = text({
  about: "A pod: its name, or agent@n1 for the one of the set on (or for) the board n1; of several the youngest.",
  examples: ["p1", "agent@n1"],
});

const labels = map(text({ about: "Value." }), { about: "Labels.", examples: [{ type: "production" }] });

const limit = either(
  [
    whole({ about: "So many boards.", min: 0 }),
    text({ about: "A share of the boards that should have a pod.", pattern: /^\d+%$/, takes: "a text such as 50%" }),
  ],
  { about: "A number of boards, or a share of them.", examples: [1, "50%"] },
);

const templateParts = {
  nodeName: optional(text({ about: "spec.nodeName of the template." })),
  nodeSelector: optional(map(text({ about: "Value." }), { about: "spec.nodeSelector of the template." })),
  affinity: optional(json({ about: "spec.affinity of the template, as in a Pod." })),
  tolerations: optional(
    list(json({ about: "A toleration as in a Pod." }), {
      about: "spec.tolerations of the template.",
      examples: [[{ key: "dedicated", operator: "Exists" }]],
    }),
  ),
  hostNetwork: optional(flag({ about: "spec.hostNetwork of the template." })),
  image: optional(text({ about: "The image of its container; another one is another template. Default agent:1." })),
};

const setParts = {
  ...templateParts,
  update: optional(choice(["RollingUpdate", "OnDelete"], { about: "updateStrategy.type. Default RollingUpdate." })),
  maxUnavailable: optional(limit),
  maxSurge: optional(limit),
  minReadySeconds: optional(whole({ about: "spec.minReadySeconds. Default 0.", min: 0, max: 1_000_000 })),
  revisionHistoryLimit: optional(whole({ about: "spec.revisionHistoryLimit. Default 10.", min: 0 })),
};

export const setForm = record(setParts, {
  about: "The DaemonSet, in short: it is called agent, in the namespace default, and selects app=agent.",
});

/** Node labels of the classic cases. */
export const boardForm = either([nodeName, nodeForm], {
  about: "A board: its name alone where nothing else matters, or its Node in short, or the whole Node.",
  examples: ["n1", { name: "n1", labels: { type: "production" }, taints: ["unreachable:NoSchedule"] }],
});

export const podForm = record(
  {
    name: optional(text({ about: "Its name; by default pod-1, pod-2, ... in the order in which they stand." })),
    node: optional(nodeName),
    bound: optional(flag({ about: "false: it was created for that board and is not bound yet. Default true." })),
    of: optional(
      choice(["new", "old", "other"], {
        about:
          "The template that it was made from: new, the present one (the default); old, the one before, of which there is " +
          "a revision; other, one that nobody knows.",
      }),
    ),
    phase: optional(
      choice(["Pending", "Running", "Succeeded", "Failed"], {
        about: "Default Running, and Pending where it is not bound.",
      }),
    ),
    ready: optional(
      choice(["T", "F", "-"], { about: "Its Ready condition. Default: T where it runs, - where it does not." }),
    ),
    readyMs: optional(
      number({
        about: "When it became ready, or ceased to be; may be negative. Default -3600000.",
        min: -latest,
        max: latest,
      }),
    ),
    createdMs: optional(
      number({ about: "When it was created; may be negative. Default -3600000.", min: -latest, max: latest }),
    ),
    terminating: optional(flag({ about: "It is being deleted, but not gone yet." })),
    owner: optional(
      choice(["set", "none", "another"], {
        about: "Its controller: the set (the default), none, or another one.",
      }),
    ),
    labels: optional(labels),
  },
  { about: "A pod. Without a node it belongs to no known board." },
);

const revisionForm = record(
  {
    name: text({ about: "Its name." }),
    revision: whole({ about: "Its number.", min: 0 }),
    of: optional(
      text({ about: "The image of its template. Default: a template of another image that no one else has." }),
    ),
    hash: optional(
      text({ about: "Its label controller-revision-hash; an empty text: it has none. Default: its name." }),
    ),
    owner: optional(choice(["set", "none", "another"], { about: "Its controller. Default: the set." })),
  },
  { about: "A ControllerRevision." },
);

export type GivenBoard = FormOf<typeof boardForm>;
export type GivenPod = FormOf<typeof podForm>;
export type GivenRevision = FormOf<typeof revisionForm>;
export type GivenSet = FormOf<typeof setForm>;

export const config = record(
  {
    untilMs: optional(
      number({ about: "When the case ends, in ms; by default a minute after its last step.", min: 0, max: latest }),
    ),
    startsMs: optional(
      number({
        about:
          "So long after a pod was made it is bound to its board, runs and is ready. Default: it stays as it was made.",
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
    set: optional(setForm),
    nodes: optional(list(boardForm, { about: "The boards." })),
    pods: optional(list(podForm, { about: "The pods." })),
    revisions: optional(
      list(revisionForm, {
        about:
          "Revisions of the set besides those that follow from its pods: of the present template, and of the old one.",
      }),
    ),
  },
  { about: "The state before the controller starts, which is at 0 ms, after the events at that instant." },
);

const refusal = {
  reason: choice(
    ["Conflict", "AlreadyExists", "NotFound", "Forbidden", "Invalid", "TooManyRequests", "InternalError", "Timeout"],
    {
      about: "How the API server refuses.",
    },
  ),
  times: optional(whole({ about: "How often; always by default.", min: 1 })),
};

export const event = tagged(
  "do",
  {
    set: { change: setForm },
    touch: {},
    deleteSet: {},
    putNode: { node: nodeForm },
    deleteNode: { node: nodeName },
    putPod: { pod: podForm },
    changePod: {
      pod: podRef,
      phase: optional(choice(["Pending", "Running", "Succeeded", "Failed"], { about: "Its phase from now on." })),
      ready: optional(choice(["T", "F", "-"], { about: "Its Ready condition from now on." })),
      labels: optional(labels),
      bind: optional(flag({ about: "true: it is bound to the board that it was made for." })),
    },
    terminate: { pod: podRef },
    deletePod: { pod: podRef },
    refuseCreation: {
      nth: whole({ about: "Of the pods that are made in this case: which one, from 1 on.", min: 1 }),
      ...refusal,
    },
    refuse: { object: optional(text({ about: "namespace/name; every object by default." })), ...refusal },
    accept: {},
    restart: {},
    look: {},
  },
  {
    set: "The spec of the set changes: what is named is set, the rest stays.",
    touch: "Something about the set changes that nobody reads: it is looked at once more.",
    deleteSet: "The set is deleted, and gone.",
    putNode: "A Node appears, or becomes what is said.",
    deleteNode: "A Node is deleted.",
    putPod: "A pod appears.",
    changePod: "A pod's kubelet reports something, somebody binds it, or gives it other labels.",
    terminate: "Somebody deletes a pod, and it takes its time.",
    deletePod: "A pod is gone.",
    refuseCreation: "The API server refuses to create a pod.",
    refuse: "The API server refuses writes.",
    accept: "All writes go through again.",
    restart: "Another leader takes over: nothing is remembered.",
    look: "Nothing: the state at that time is in the outcome.",
  },
  { about: "What happens." },
);

export type Event = FormOf<typeof event>;
export type Config = FormOf<typeof config>;
export type Given = FormOf<typeof given>;
