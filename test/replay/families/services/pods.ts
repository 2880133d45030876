import type { Pod } from "../../../../agent/api/core.ts";
import { latest } from "../../case.ts";
import {
  choice,
  either,
  type Form,
  type FormOf,
  flag,
  json,
  list,
  map,
  nothing,
  number,
  optional,
  record,
  text,
  whole,
} from "../../form.ts";
import { statusOf } from "../../shorthand.ts";
import { type CaseTime, isWhole } from "../../site/case-time.ts";

/** "default" where a name does not say. */
export function placeOf(name: string): readonly [namespace: string, name: string] {
  const slash = name.indexOf("/");
  return slash < 0 ? ["default", name] : [name.slice(0, slash), name.slice(slash + 1)];
}

export const keyOfName = (name: string): string => placeOf(name).join("/");

export const usualLabels = { app: "web" } as const;
export const labelsForm = (about: string) => map(text({ about: "Its value." }), { about });

const containerPort = record(
  {
    name: text({ about: "Its name." }),
    port: whole({ about: "Its number.", min: 1, max: 65_535 }),
    protocol: optional(choice(["TCP", "UDP", "SCTP"], { about: "TCP by default." })),
    in: optional(
      choice(["container", "sidecar", "init"], {
        about:
          "Which container has it: the usual one (the default), an init container that stays (restartPolicy Always), or one " +
          "that does not.",
      }),
    ),
  },
  { about: "A port with a name." },
);

const portsForm = either(
  [
    map(whole({ about: "Its number, TCP.", min: 1, max: 65_535 }), { about: "Numbers by name." }),
    list(containerPort, { about: "Ports, in the order of the containers." }),
  ],
  { about: "The ports that its containers name.", examples: [{ http: 8080 }] },
);

/** The members of a pod that a case can set, on creation and on a change. */
export const podMembers = {
  ready: optional(
    choice(["T", "F", "U", "-"], { about: "Its Ready condition: T True (the default), F False, U Unknown, - none." }),
  ),
  sinceMs: optional(
    number({
      about: "lastTransitionTime of its Ready condition, in ms of the case; the present by default.",
      min: -latest,
      max: latest,
    }),
  ),
  phase: optional(choice(["Pending", "Running", "Succeeded", "Failed", "Unknown"], { about: "Running by default." })),
  ip: optional(
    either(
      [
        text({ about: "One address." }),
        list(text({ about: "An address." }), { about: "Several, the first one is podIP; an empty list: none yet." }),
      ],
      {
        about: "Its addresses. By default a unique IPv4 address.",
        examples: ["10.0.0.1", ["10.0.0.1", "fd00::1"], []],
      },
    ),
  ),
  node: optional(
    either([text({ about: "The name of its board." }), nothing({ about: "It is not bound." })], {
      about: "n1 by default.",
    }),
  ),
  labels: optional(labelsForm('Its labels; {"app":"web"} by default, which is what services select by default.')),
  hostname: optional(text({ about: "spec.hostname." })),
  subdomain: optional(text({ about: "spec.subdomain: the name of the service it belongs to." })),
  ports: optional(portsForm),
  restartPolicy: optional(choice(["Always", "OnFailure", "Never"], { about: "Nothing depends on it any more." })),
  terminating: optional(flag({ about: "Somebody deleted it, and it is on its way out." })),
  uid: optional(text({ about: "Its uid; uid-NAME by default." })),
};

const shortPod = record(
  {
    name: text({
      about: "Its name, with its namespace in front if that is not default. With count: how the names begin.",
      examples: ["a", "other/a", "p"],
    }),
    count: optional(
      whole({ about: "That many pods instead: NAME-1, NAME-2, … without any other difference.", min: 0, max: 5000 }),
    ),
    ...podMembers,
  },
  { about: "A pod in short, or many." },
);

export type ShortPod = FormOf<typeof shortPod>;

export const podForm: Form<ShortPod | Readonly<Record<string, unknown>>> = either(
  [
    {
      ...json({ about: "A whole Pod object (v1), known by its metadata. uid and resourceVersion may be missing." }),
      fits: isWhole,
    },
    shortPod,
  ],
  { about: "A pod.", examples: [{ name: "a" }, { name: "p", count: 250 }] },
);

const isShort = (pod: FormOf<typeof podForm>): pod is ShortPod => !isWhole(pod);

/** The full objects of a case's pod. `order`: how many pods were created before, for their addresses. */
export function podsFrom(
  given: FormOf<typeof podForm>,
  time: CaseTime,
  at: { nowMs: number; order: number },
): readonly object[] {
  if (!isShort(given)) return [given];
  const { name, count, ...rest } = given;
  const names = count === undefined ? [name] : Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
  return names.map((one, index) => podFrom({ name: one, ...rest }, time, { ...at, order: at.order + index }));
}

function podFrom(given: ShortPod, time: CaseTime, { nowMs, order }: { nowMs: number; order: number }): object {
  const [namespace, name] = placeOf(given.name);
  const usualIp = `10.${1 + (order >> 16)}.${(order >> 8) & 255}.${order & 255}`;
  return {
    metadata: {
      name,
      namespace,
      uid: given.uid ?? `uid-${given.name}`,
      labels: given.labels ? Object.fromEntries(given.labels) : usualLabels,
      ...(given.terminating && { deletionTimestamp: time.stamp(nowMs) }),
    },
    spec: {
      ...containersOf(given.ports),
      ...(given.node !== null && { nodeName: given.node ?? "n1" }),
      ...named("hostname", given.hostname),
      ...named("subdomain", given.subdomain),
      ...named("restartPolicy", given.restartPolicy),
    },
    status: { phase: given.phase ?? "Running", ...readiness(given, time, nowMs), ...addresses(given.ip ?? usualIp) },
  };
}

/** The same pod with the given members changed. */
export function changedPod(pod: Pod, change: Omit<ShortPod, "name" | "count">, time: CaseTime, nowMs: number): object {
  const { ready, sinceMs } = change;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(change.labels && { labels: Object.fromEntries(change.labels) }),
      ...(change.terminating && { deletionTimestamp: time.stamp(nowMs) }),
    },
    spec: {
      ...pod.spec,
      ...(change.ports && containersOf(change.ports)),
      ...(typeof change.node === "string" && { nodeName: change.node }),
      ...named("hostname", change.hostname),
      ...named("subdomain", change.subdomain),
    },
    status: {
      ...pod.status,
      ...named("phase", change.phase),
      ...((ready !== undefined || sinceMs !== undefined) && readiness(change, time, nowMs)),
      ...(change.ip !== undefined && addresses(change.ip)),
    },
  };
}

const named = (name: string, value: string | undefined): object => (value === undefined ? {} : { [name]: value });

function readiness(
  { ready = "T", sinceMs }: Pick<ShortPod, "ready" | "sinceMs">,
  time: CaseTime,
  nowMs: number,
): object {
  const status = statusOf(ready);
  const lastTransitionTime = time.stamp(Math.floor((sinceMs ?? nowMs) / 1000) * 1000);
  return { conditions: status === undefined ? [] : [{ type: "Ready", status, lastTransitionTime }] };
}

function addresses(ip: string | readonly string[]): object {
  const ips = typeof ip === "string" ? [ip] : ip;
  return { podIP: ips[0] ?? "", podIPs: ips.map((one) => ({ ip: one })) };
}

function containersOf(ports: ShortPod["ports"] = []): object {
  const all = portList(ports);
  const of = (kind: string) =>
    all
      .filter((port) => (port.in ?? "container") === kind)
      .map(({ in: _in, port, ...rest }) => ({ protocol: "TCP", ...rest, containerPort: port }));
  return {
    containers: [{ name: "main", ports: of("container") }],
    initContainers: [
      { name: "init", ports: of("init") },
      { name: "sidecar", restartPolicy: "Always", ports: of("sidecar") },
    ],
  };
}

type ContainerPort = FormOf<typeof containerPort>;

const portList = (ports: NonNullable<ShortPod["ports"]>): readonly ContainerPort[] =>
  ports instanceof Map ? [...ports].map(([name, port]) => ({ name, port })) : (ports as readonly ContainerPort[]);
