import { latest } from "../../case.ts";
import {
  choice,
  either,
  type FormOf,
  list,
  nothing,
  number,
  optional,
  record,
  tagged,
  text,
  whole,
} from "../../form.ts";
import { startTime } from "../../site/case-time.ts";
import { addressForm } from "../er/texts.ts";
import { labelsForm, podForm, podMembers } from "./pods.ts";
import { serviceForm, serviceMembers } from "./services.ts";
import { namesForm, sliceForm } from "./slices.ts";

const service = text({ about: "A service, by its name.", examples: ["web", "other/web"] });
const board = text({ about: "A board, by the name of its Node.", pattern: /^[^/\s]+$/, takes: "a name" });
const zone = either([text({ about: "The name of its zone." }), nothing({ about: "It has none." })], {
  about: "Its label topology.kubernetes.io/zone.",
});

const nodeForm = record(
  {
    name: board,
    zone: optional(zone),
    cpu: optional(text({ about: "Its allocatable CPU, such as 4 or 500m; by default it reports none." })),
  },
  { about: "A board that is ready." },
);

const subsetForm = record(
  {
    ready: optional(list(addressForm, { about: "Its ready addresses." })),
    notReady: optional(list(addressForm, { about: "The others." })),
    ports: optional(
      list(
        record(
          {
            port: whole({ about: "Its number.", min: 1, max: 65_535 }),
            name: optional(text({ about: "Its name." })),
            protocol: optional(choice(["TCP", "UDP", "SCTP"], { about: "TCP by default." })),
          },
          { about: "A port." },
        ),
        { about: "Its ports." },
      ),
    ),
  },
  { about: "A subset." },
);

const endpointsMembers = {
  subsets: optional(list(subsetForm, { about: "Its subsets." })),
  labels: optional(labelsForm("Its labels.")),
  annotations: optional(labelsForm("Its annotations.")),
};

const endpointsForm = record(
  { name: text({ about: "Its name: that of a service, if it has one." }), ...endpointsMembers },
  { about: "Endpoints that already exist, or are written by hand." },
);

const tracked = record(
  {
    slice: text({ about: "The name of the slice." }),
    generation: whole({ about: "Its version after our last write; -1: we deleted it.", min: -1 }),
  },
  { about: "A write of ours." },
);

export const config = record(
  {
    perSlice: optional(whole({ about: "Endpoints in one slice; 100 by default.", min: 1, max: 1000 })),
    batchMs: optional(number({ about: "How long changes of pods are gathered; 0 by default.", min: 0, max: latest })),
    untilMs: optional(
      number({ about: "When the case ends; by default with its last step, at 0 ms without any.", min: 0, max: latest }),
    ),
    startTime,
  },
  { about: "Parameters." },
);

export const given = record(
  {
    nodes: optional(list(nodeForm, { about: "The boards; n1 by default, without a zone. An empty list: none." })),
    services: optional(list(serviceForm, { about: "The services; one called web by default. An empty list: none." })),
    pods: optional(list(podForm, { about: "The pods; none by default." })),
    endpoints: optional(list(endpointsForm, { about: "Endpoints that are there already." })),
    slices: optional(list(sliceForm, { about: "Slices that are there already." })),
    tracker: optional(
      list(tracked, {
        about:
          "What the controller of slices remembers of its last writes, while the cache shows the slices above. The API " +
          "shows the same: what the cache lacks is asked for after 2 s.",
      }),
    ),
  },
  { about: "The state when the controllers start, which is at 0 ms, after the events at that instant." },
);

const refused = ["Conflict", "AlreadyExists", "Forbidden", "Invalid", "InternalError", "Timeout"] as const;

export const event = tagged(
  "do",
  {
    createPod: { pod: podForm },
    changePod: { pod: namesForm, ...podMembers },
    deletePod: { pod: namesForm },
    createService: { service: serviceForm },
    changeService: { service, ...serviceMembers },
    deleteService: { service },
    createNode: { node: nodeForm },
    changeNode: { node: board, zone },
    deleteNode: { node: board },
    createEndpoints: { endpoints: endpointsForm },
    changeEndpoints: { endpoints: text({ about: "By name." }), ...endpointsMembers },
    deleteEndpoints: { endpoints: text({ about: "By name." }) },
    changeSlice: {
      slice: text({ about: "By name." }),
      labels: optional(labelsForm("Labels that it gets; its others stay.")),
      annotations: optional(labelsForm("Annotations that it gets; its others stay.")),
    },
    deleteSlice: { slice: text({ about: "By name." }) },
    refuse: {
      object: optional(text({ about: "Only writes of this object; all by default.", examples: ["default/web"] })),
      reason: choice(refused, { about: "How the API server refuses." }),
      times: optional(whole({ about: "How often; always by default.", min: 1 })),
    },
    accept: {},
    restart: {},
    stop: {},
    start: {},
    look: {},
  },
  {
    createPod: "A pod appears, or many.",
    changePod: "Pods change in what is said; everything else stays.",
    deletePod: "Pods are gone.",
    createService: "A service appears.",
    changeService: "A service changes in what is said; everything else stays.",
    deleteService: "A service is gone. Nobody collects its slices here.",
    createNode: "A board appears.",
    changeNode: "A board gets another zone, or none.",
    deleteNode: "A Node is gone; its pods stay.",
    createEndpoints: "Somebody makes Endpoints by hand.",
    changeEndpoints: "Somebody changes Endpoints by hand.",
    deleteEndpoints: "Somebody deletes Endpoints.",
    changeSlice: "Somebody changes a slice by hand.",
    deleteSlice: "Somebody deletes a slice.",
    refuse: "From now on the API server refuses writes of the agent.",
    accept: "All writes go through again.",
    restart: "The controllers stop and start again, with nothing in their memory.",
    stop: "The controllers stop.",
    start: "The controllers start again, with nothing in their memory.",
    look: "Nothing: the state at that time is in the outcome.",
  },
  { about: "What happens." },
);

export type Config = FormOf<typeof config>;
export type Given = FormOf<typeof given>;
export type Event = FormOf<typeof event>;
