import { choice, either, flag, list, map, nothing, optional, text, whole } from "../form.ts";
import { readyWord } from "../shorthand.ts";
import type { Boards } from "./boards.ts";
import { remoteTime } from "./case-time.ts";
import type { Kubelets } from "./kubelets.ts";
import { aliveNote, conditionStatuses, largestCounter, nodeForm, nodeName, taintTexts } from "./node-form.ts";
import type { Refusal, Refusals } from "./refusals.ts";

/** The events that can happen to Nodes and to writes of them, each with its members. */
export const nodeEvents = {
  status: {
    node: nodeName,
    ready: optional(readyWord),
    conditions: optional(conditionStatuses),
    heartbeatMs: optional(remoteTime("lastHeartbeatTime of all its conditions, in ms. Default: now.")),
    transitionMs: optional(
      remoteTime("lastTransitionTime, in ms. Default: now for conditions that change, else as it was."),
    ),
    alive: optional(flag({ about: `${aliveNote} Default: as for a Node that is given with this Ready condition.` })),
  },
  renew: {
    node: nodeName,
    lease: optional(
      whole({
        about: "The renew counter. The same number as before is no renewal. Default: the next.",
        min: 0,
        max: largestCounter,
      }),
    ),
  },
  deleteLease: { node: nodeName },
  alive: { nodes: list(nodeName, { about: "Boards." }), alive: flag({ about: aliveNote }) },
  add: { node: nodeForm },
  delete: { node: nodeName },
  taint: { node: nodeName, taints: taintTexts },
  label: {
    node: nodeName,
    labels: map(
      either([text({ about: "Value." }), nothing({ about: "The label goes." })], { about: "Value or null." }),
      {
        about: "Labels to set or, with null, to remove.",
        examples: [{ "topology.kubernetes.io/zone": "B" }],
      },
    ),
  },
  cordon: { node: nodeName, unschedulable: flag({ about: "spec.unschedulable." }) },
  refuse: {
    object: optional(
      text({ about: "Whose writes: the name of a Node, or namespace/name of a Pod. Default: all.", examples: ["n0"] }),
    ),
    part: optional(
      choice(["status", "spec"], {
        about: "Which of them: of the status (conditions), or of the rest (taints, labels). Default: both.",
      }),
    ),
    reason: choice(["Conflict", "NotFound", "Forbidden", "InternalError", "Timeout"], {
      about:
        "How the API refuses. Conflict is a 409: another writer was faster, so that the object has a new resourceVersion. " +
        "InternalError is a 500.",
    }),
    times: optional(whole({ about: "How often; every try counts. Default: always.", min: 1 })),
  },
  accept: {},
  look: {},
};

export const nodeEventNotes: Readonly<Record<keyof typeof nodeEvents, string>> = {
  status: "The kubelet of a board posts its status: all conditions get a new heartbeat, those named a new status.",
  renew: "The Lease of a board is renewed once, or made.",
  deleteLease: "Somebody deletes the Lease of a board; one that lives makes it anew when it renews the next time.",
  alive: "Boards begin or cease to renew their Leases by themselves.",
  add: "A Node appears. One of the same name is replaced by it, as by an update that keeps its uid.",
  delete: "A Node is deleted; its Lease stays.",
  taint: "Somebody else sets the whole list of taints of a Node; those that stay keep their timeAdded.",
  label: "Somebody changes labels of a Node.",
  cordon: "Somebody cordons or uncordons a Node.",
  refuse: "From now on the API refuses writes of the agent.",
  accept: "All writes go through again.",
  look: "Nothing happens: time passes up to here, and the outcome shows how the site stands.",
};

type Label = string | null;

/** As `nodeEvents` reads them. */
export type NodeEvent =
  | ({ readonly do: "status"; readonly node: string } & Parameters<Boards["post"]>[1])
  | { readonly do: "renew"; readonly node: string; readonly lease?: number }
  | { readonly do: "deleteLease"; readonly node: string }
  | { readonly do: "alive"; readonly nodes: readonly string[]; readonly alive: boolean }
  | { readonly do: "add"; readonly node: Parameters<Boards["put"]>[0] }
  | { readonly do: "delete"; readonly node: string }
  | { readonly do: "taint"; readonly node: string; readonly taints: readonly string[] }
  | { readonly do: "label"; readonly node: string; readonly labels: ReadonlyMap<string, Label> }
  | { readonly do: "cordon"; readonly node: string; readonly unschedulable: boolean }
  | ({ readonly do: "refuse" } & Refusal)
  | { readonly do: "accept" }
  | { readonly do: "look" };

export function happen(
  event: NodeEvent,
  { boards, kubelets, refusals }: { readonly boards: Boards; readonly kubelets: Kubelets; readonly refusals: Refusals },
): void {
  switch (event.do) {
    case "status":
      boards.post(event.node, event);
      break;
    case "renew":
      kubelets.renew(event.node, event.lease);
      break;
    case "deleteLease":
      kubelets.forget(event.node);
      break;
    case "alive":
      for (const name of event.nodes) kubelets.setAlive(boards.find(name).metadata.name, event.alive);
      break;
    case "add":
      boards.put(event.node);
      break;
    case "delete":
      boards.delete(event.node);
      break;
    case "taint":
      boards.taint(event.node, event.taints);
      break;
    case "label":
      boards.label(event.node, event.labels);
      break;
    case "cordon":
      boards.cordon(event.node, event.unschedulable);
      break;
    case "refuse":
      refusals.add(event);
      break;
    case "accept":
      refusals.clear();
      break;
    case "look":
      break;
    default:
      event satisfies never;
  }
}
