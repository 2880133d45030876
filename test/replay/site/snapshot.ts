import type { Node, Pod } from "../../../agent/api/core.ts";
import { keyOf } from "../../../agent/api/meta.ts";
import { podCondition } from "../../../agent/api/pods.ts";
import { noExecuteTaints, taintsOf } from "../../../agent/api/taints.ts";
import type { Instant } from "../../../agent/base/clock.ts";
import { readyOf } from "../../../agent/controllers/node-lifecycle/health.ts";
import type { SiteMemory } from "../../../agent/controllers/node-lifecycle/memory.ts";
import { levelAt } from "../../../agent/controllers/node-lifecycle/zones/eviction-queue.ts";
import type { JsonSchema } from "../form.ts";
import type { Outcome } from "../outcome.ts";
import { stateNames, stateSchema } from "../zone-names.ts";
import { type CaseTime, ms } from "./case-time.ts";
import { conditionSchema, showCondition } from "./shown.ts";
import { showTaint } from "./taint-text.ts";

/** The zone according to the labels: "A"; "region/A" if a region is set; "" if neither is. */
export function zoneLabel(key: string): string {
  const [region = "", zone = ""] = key.split(":\u0000:");
  return region === "" ? zone : `${region}/${zone}`;
}

export function showZones(memory: SiteMemory | undefined, now: Instant): Outcome {
  const zones = [...(memory?.zones ?? [])].map(([key, { state, queue }]) => {
    const boards = [...(memory?.boards ?? [])].filter(([, { zone }]) => zone === key);
    const level = levelAt(queue, now);
    return [
      zoneLabel(key),
      {
        state: stateNames[state],
        qps: queue.rate,
        tokens: Math.round(level * 1000) / 1000,
        waiting: [...queue.waiting.keys()],
        boards: boards.map(([name]) => name).sort(),
      },
    ] as const;
  });
  return Object.fromEntries(zones);
}

export const zonesSchema: JsonSchema = {
  type: "object",
  description:
    'The zones by name: "A" for the zone label, "region/A" where there is a region label too, "" where there is neither.',
  additionalProperties: {
    type: "object",
    properties: {
      state: stateSchema,
      qps: {
        type: "number",
        description: "Boards per second that may be tainted NoExecute. 0: none (the never limiter of Kubernetes).",
      },
      tokens: {
        type: "number",
        description: "The level of its bucket, from 0 (drained) to 1 (the next board may be tainted at once).",
      },
      waiting: {
        type: "array",
        items: { type: "string" },
        description: "Boards that wait for their NoExecute taint, in the order in which they came.",
      },
      boards: { type: "array", items: { type: "string" }, description: "All its boards, by name." },
    },
  },
};

export function showBoards(all: readonly Node[], memory: SiteMemory | undefined, time: CaseTime): Outcome {
  const boards = all.map((node) => {
    const { name, labels = {} } = node.metadata;
    const record = memory?.boards.get(name);
    const conditions = (node.status?.conditions ?? []).map((condition) => {
      const { type, ...shown } = showCondition(condition, time);
      return [type, shown] as const;
    });
    return [
      name,
      {
        ready: readyOf(node)?.status ?? null,
        conditions: Object.fromEntries(conditions),
        taints: taintsOf(node).map(showTaint).sort(),
        noExecute: noExecuteTaints(node).map(showTaint).sort(),
        labels,
        zone: record && zoneLabel(record.zone),
        probeMs: record && ms(record.health.probe),
        transitionMs: record && ms(record.health.transition),
        queued: memory && [...memory.zones.values()].some(({ queue }) => queue.waiting.has(name)),
        verdict: record?.verdict.verdict,
      },
    ] as const;
  });
  return Object.fromEntries(boards);
}

const { type: _type, ...conditionFields } = conditionSchema.properties;

const texts = (description: string): JsonSchema => ({ type: "array", items: { type: "string" }, description });

/** `judged`: the node-lifecycle controller's memory is shown too. */
export const boardsSchema = (judged: boolean): JsonSchema => ({
  type: "object",
  description: "The Nodes by name, as the API has them.",
  additionalProperties: {
    type: "object",
    properties: {
      ready: { type: ["string", "null"], description: "Status of the Ready condition; null: there is none." },
      conditions: {
        type: "object",
        description: "All conditions by type, Ready too.",
        additionalProperties: { type: "object", properties: conditionFields },
      },
      taints: texts("All taints, sorted, such as unreachable:NoExecute and not-ready:NoSchedule."),
      noExecute: texts("Those of them with effect NoExecute."),
      labels: { type: "object", description: "All labels." },
      ...(judged && {
        zone: { type: "string", description: "The zone that it is judged in." },
        probeMs: { type: "number", description: "From here on it counts as silent (probeTimestamp of Kubernetes)." },
        transitionMs: { type: "number", description: "When its readiness changed (readyTransitionTimestamp)." },
        queued: { type: "boolean", description: "It waits for its NoExecute taint." },
        verdict: {
          type: "string",
          enum: ["alive", "unknown", "unproven"],
          description: "alive: last heartbeat within its grace period. unproven: silent for longer.",
        },
      }),
    },
  },
});

export const showPods = (all: readonly Pod[]): Outcome =>
  Object.fromEntries(
    all.map((pod) => [
      keyOf(pod),
      { node: pod.spec?.nodeName ?? null, ready: podCondition(pod, "Ready")?.status ?? null },
    ]),
  );

export const podsSchema: JsonSchema = {
  type: "object",
  description: 'The Pods by "namespace/name".',
  additionalProperties: {
    type: "object",
    properties: {
      node: { type: ["string", "null"], description: "The board it is bound to." },
      ready: { type: ["string", "null"], description: "Status of its Ready condition; null: there is none." },
    },
  },
};
