import type { Service } from "../../../../agent/api/core.ts";
import { latest } from "../../case.ts";
import {
  choice,
  either,
  type Form,
  type FormOf,
  flag,
  json,
  list,
  nothing,
  number,
  optional,
  record,
  text,
  whole,
} from "../../form.ts";
import { type CaseTime, isWhole } from "../../site/case-time.ts";
import { labelsForm, placeOf, usualLabels } from "./pods.ts";

const servicePort = either(
  [
    whole({ about: "The number alone, TCP, which leads to the same number.", min: 1, max: 65_535 }),
    record(
      {
        port: whole({ about: "Its number.", min: 1, max: 65_535 }),
        name: optional(text({ about: "Its name; none by default." })),
        targetPort: optional(
          either(
            [whole({ about: "A number.", min: 1, max: 65_535 }), text({ about: "The name of a port of the pods." })],
            {
              about: "Where it leads; its own number by default.",
            },
          ),
        ),
        protocol: optional(choice(["TCP", "UDP", "SCTP"], { about: "TCP by default." })),
        appProtocol: optional(text({ about: "Its application protocol." })),
      },
      { about: "A port." },
    ),
  ],
  { about: "A port.", examples: [80, { name: "http", port: 80, targetPort: "http" }] },
);

const family = choice(["IPv4", "IPv6"], { about: "A family." });

/** The members of a service that a case can set, on creation and on a change. */
export const serviceMembers = {
  selector: optional(
    either([labelsForm("Labels that a pod must have."), nothing({ about: "None: its endpoints are made by hand." })], {
      about: '{"app":"web"} by default.',
    }),
  ),
  ports: optional(list(servicePort, { about: "Its ports, in order; port 80 by default." })),
  type: optional(choice(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"], { about: "ClusterIP by default." })),
  headless: optional(flag({ about: "Its clusterIP is None." })),
  clusterIP: optional(text({ about: "Its cluster IP; 10.96.0.1 by default. An empty text: it has none." })),
  families: optional(
    list(family, { about: "spec.ipFamilies; IPv4 alone by default. An empty list: an old API server says nothing." }),
  ),
  publishNotReady: optional(flag({ about: "spec.publishNotReadyAddresses." })),
  trafficDistribution: optional(
    either(
      [text({ about: "PreferClose, PreferSameZone or PreferSameNode." }), nothing({ about: "No wish any more." })],
      {
        about: "Where it wants its traffic to stay.",
      },
    ),
  ),
  labels: optional(labelsForm("Its labels; none by default.")),
  annotations: optional(labelsForm("Its annotations; none by default.")),
  terminating: optional(flag({ about: "Somebody deleted it, and it is on its way out." })),
};

const shortService = record(
  {
    name: text({ about: "Its name, with its namespace in front if that is not default.", examples: ["web"] }),
    uid: optional(text({ about: "Its uid; uid-NAME by default." })),
    createdMs: optional(
      number({ about: "When it was created, in ms of the case; the present by default.", min: -latest, max: latest }),
    ),
    ...serviceMembers,
  },
  { about: "A service in short." },
);

type ShortService = FormOf<typeof shortService>;

export const serviceForm: Form<ShortService | Readonly<Record<string, unknown>>> = either(
  [
    {
      ...json({ about: "A whole Service object (v1), known by its metadata. uid and resourceVersion may be missing." }),
      fits: isWhole,
    },
    shortService,
  ],
  { about: "A service.", examples: [{ name: "web" }] },
);

const isShort = (service: FormOf<typeof serviceForm>): service is ShortService => !isWhole(service);

export function serviceFrom(given: FormOf<typeof serviceForm>, time: CaseTime, nowMs: number): object {
  if (!isShort(given)) return given;
  const [namespace, name] = placeOf(given.name);
  const { uid = `uid-${given.name}`, createdMs = nowMs } = given;
  const creationTimestamp = time.stamp(Math.floor(createdMs / 1000) * 1000);
  const empty = { metadata: { name, namespace, uid, creationTimestamp }, spec: { type: "ClusterIP", ...usualSpec } };
  return withSaid(empty, given, time, nowMs);
}

const usualSpec = {
  selector: usualLabels,
  clusterIP: "10.96.0.1",
  ipFamilies: ["IPv4"],
  ports: [{ port: 80, targetPort: 80, protocol: "TCP" }],
};

/** The same service with the given members changed. */
export const changedService = (
  service: Service,
  change: Omit<ShortService, "name" | "uid" | "createdMs">,
  time: CaseTime,
  nowMs: number,
): object => withSaid(service, change, time, nowMs);

function withSaid(
  { metadata, spec, ...rest }: { readonly metadata: object; readonly spec?: object },
  said: Omit<ShortService, "name" | "uid" | "createdMs">,
  time: CaseTime,
  nowMs: number,
): object {
  const { selector, ports, type, headless, clusterIP, families, publishNotReady, trafficDistribution } = said;
  const {
    selector: _selector,
    trafficDistribution: _wish,
    ...others
  } = { selector: null, trafficDistribution: null, ...spec };
  const before = { selector: _selector, trafficDistribution: _wish };
  const keptSelector = selector === undefined ? before.selector : selector && Object.fromEntries(selector);
  const keptWish = trafficDistribution === undefined ? before.trafficDistribution : trafficDistribution;
  return {
    ...rest,
    metadata: {
      ...metadata,
      ...(said.labels && { labels: Object.fromEntries(said.labels) }),
      ...(said.annotations && { annotations: Object.fromEntries(said.annotations) }),
      ...(said.terminating && { deletionTimestamp: time.stamp(nowMs) }),
    },
    spec: {
      ...others,
      ...(keptSelector !== null && { selector: keptSelector }),
      ...(keptWish !== null && { trafficDistribution: keptWish }),
      ...(ports && { ports: ports.map(portFrom) }),
      ...(type !== undefined && { type }),
      ...(clusterIP !== undefined && { clusterIP }),
      ...(headless && { clusterIP: "None" }),
      ...(families && { ipFamilies: families }),
      ...(publishNotReady !== undefined && { publishNotReadyAddresses: publishNotReady }),
    },
  };
}

const portFrom = (given: FormOf<typeof servicePort>): object =>
  typeof given === "number"
    ? { port: given, targetPort: given, protocol: "TCP" }
    : { targetPort: given.port, protocol: "TCP", ...given };
