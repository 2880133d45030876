import type { Node, NodeCondition, Taint } from "../../../agent/api/core.ts";
import { nodes, pods } from "../../../agent/api/resources.ts";
import type { Clock, Millis } from "../../../agent/base/clock.ts";
import type { EventAction } from "../../../agent/execution/actions.ts";
import type { JsonSchema } from "../form.ts";
import { type CaseTime, ms } from "./case-time.ts";
import type { Write } from "./memory-api.ts";
import { conditionSchema, type ShownCondition, showCondition, type TaintChange, taintChanges } from "./shown.ts";

interface ShownWrite {
  readonly atMs: Millis;
  readonly verb: string;
  readonly object: string;
  readonly what: string;
  readonly conditions?: readonly ShownCondition[];
  readonly taints?: readonly TaintChange[];
  readonly labels?: object;
  readonly refused: string | undefined;
}

/** Supports only the patches that our controllers send. */
interface Patch {
  readonly metadata?: { readonly labels?: object };
  readonly spec?: { readonly taints?: readonly Taint[] };
  readonly status?: { readonly conditions?: readonly NodeCondition[] };
}

/** The agent's acts on the site, in chronological order. */
export class Journal {
  readonly writes: ShownWrite[] = [];
  readonly taints: (TaintChange & { readonly atMs: Millis; readonly node: string })[] = [];
  readonly podsNotReady: { readonly atMs: Millis; readonly pod: string }[] = [];
  readonly events: object[] = [];
  readonly asked: { readonly atMs: Millis; readonly object: string }[] = [];
  readonly #clock: Clock;
  readonly #time: CaseTime;

  constructor({ clock, time }: { readonly clock: Clock; readonly time: CaseTime }) {
    this.#clock = clock;
    this.#time = time;
  }

  wrote(write: Write): void {
    const { resource, key, after } = write;
    const shown = this.#show(write);
    this.writes.push(shown);
    if (after === undefined) return;
    const { atMs } = shown;
    if (resource.kind === nodes.kind) {
      for (const change of shown.taints ?? []) this.taints.push({ atMs, node: key, ...change });
    }
    const marked = shown.conditions?.some(({ type, status }) => type === "Ready" && status === "False");
    if (resource.kind === pods.kind && marked) this.podsNotReady.push({ atMs, pod: key });
  }

  read({ resource, key }: { readonly resource: Write["resource"]; readonly key: string }): void {
    this.asked.push({ atMs: ms(this.#clock.now()), object: `${resource.kind.toLowerCase()}/${key}` });
  }

  recordEvent({ about, severity, reason, message }: EventAction): void {
    const { namespace, name, resource } = about;
    const object = `${resource.kind.toLowerCase()}/${namespace === undefined ? "" : `${namespace}/`}${name}`;
    this.events.push({ atMs: ms(this.#clock.now()), about: object, type: severity, reason, message });
  }

  #show({ verb, resource, key, subresource, body, before, refused }: Write): ShownWrite {
    const { metadata, spec, status } = body as Patch;
    const conditions = status?.conditions?.map((condition) => showCondition(condition, this.#time));
    const taints = spec?.taints && changed(before, spec.taints);
    const labels = metadata?.labels;
    const what = [subresource, taints && "taints", labels && "labels"].filter((one) => one !== undefined).join("+");
    return {
      atMs: ms(this.#clock.now()),
      verb,
      object: `${resource.kind.toLowerCase()}/${key}`,
      what,
      ...(conditions && { conditions }),
      ...(taints && { taints }),
      ...(labels && { labels }),
      refused,
    };
  }
}

/** `before` is a Node: no other object has taints. */
function changed(before: Write["before"], taints: readonly Taint[]): readonly TaintChange[] {
  const node = before as Node | undefined;
  return node === undefined ? [] : taintChanges(node, { ...node, spec: { ...node.spec, taints } });
}

const atMs = { type: "number", description: "When, in ms of the case, to the millisecond." };
const taint = {
  taint: {
    type: "string",
    description: "As key=value:effect; keys of node.kubernetes.io/ without that prefix.",
    examples: ["unreachable:NoExecute"],
  },
  change: {
    type: "string",
    enum: ["added", "removed", "renewed"],
    description: "renewed: it was there already, and got another timeAdded.",
  },
};

/** Members of the outcome. */
export const journalSchema: Readonly<Record<string, JsonSchema>> = {
  writes: {
    type: "array",
    description: "Every request of the agent to change something, also those that were refused, in order.",
    items: {
      type: "object",
      properties: {
        atMs,
        verb: { type: "string", description: "create, patch, delete or bind." },
        object: { type: "string", examples: ["node/n0", "pod/default/p1"] },
        what: { type: "string", description: "Which part: status, taints, labels, or taints+labels." },
        conditions: { type: "array", items: conditionSchema, description: "Of a status: the conditions written." },
        taints: { type: "array", items: { type: "object", properties: taint }, description: "The changed members." },
        labels: { type: "object", description: "The labels set." },
        refused: { type: "string", description: "Why it failed: Conflict, NotFound, ...; absent if it succeeded." },
      },
    },
  },
  taints: {
    type: "array",
    description: "Every taint that the agent put on a Node or took off it, in order.",
    items: { type: "object", properties: { atMs, node: { type: "string" }, ...taint } },
  },
  podsNotReady: {
    type: "array",
    description: "Every pod whose Ready condition the agent set to False, in order.",
    items: { type: "object", properties: { atMs, pod: { type: "string", examples: ["default/p1"] } } },
  },
  events: {
    type: "array",
    description: "Every Event that the agent recorded, in order, before Events are merged and limited.",
    items: {
      type: "object",
      properties: {
        atMs,
        about: { type: "string", examples: ["node/n0", "pod/default/p1"] },
        type: { type: "string", enum: ["Normal", "Warning"] },
        reason: { type: "string", examples: ["NodeNotReady", "RegisteredNode", "RemovingNode"] },
        message: { type: "string" },
      },
    },
  },
};
