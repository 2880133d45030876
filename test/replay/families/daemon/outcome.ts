import type { JsonSchema } from "../../form.ts";
import { journalSchema } from "../../site/journal.ts";

const count = { type: "number" };

/** The outcome of a case about a DaemonSet. */
export const outcomeSchema: JsonSchema = {
  type: "object",
  properties: {
    passes: {
      type: "array",
      description: "Every pass in which pods were to be made or removed, in order.",
      items: {
        type: "object",
        properties: {
          atMs: count,
          create: { type: "array", items: { type: "string" }, description: "Boards for which a pod was to be made." },
          delete: { type: "array", items: { type: "string" }, description: "Pods that were to go." },
          attempted: { ...count, description: "Creations that were sent." },
          refused: { ...count, description: "Of these, the ones that the API refused." },
          skipped: { ...count, description: "Creations that were not sent any more, because an earlier one failed." },
          lowered: { ...count, description: "By how much upstream's expectations would have been lowered again." },
        },
      },
    },
    looks: {
      type: "array",
      description: "The times at which the set was processed, whatever the result.",
      items: count,
    },
    created: {
      type: "array",
      description: "Every pod that was made, in order.",
      items: { type: "object", properties: { atMs: count, pod: { type: "string" }, node: { type: "string" } } },
    },
    deleted: {
      type: "array",
      description: "Every pod that was deleted, in order.",
      items: { type: "object", properties: { atMs: count, pod: { type: "string" }, node: { type: "string" } } },
    },
    boards: {
      type: "object",
      description:
        "The decision for each board: shouldRun, shouldContinue (docs/kubernetes-rules.md#daemon-eligibility).",
      additionalProperties: {
        type: "object",
        properties: { shouldRun: { type: "boolean" }, shouldContinue: { type: "boolean" } },
      },
    },
    update: {
      type: "object",
      description:
        "The state of an update, and its next step by the rule alone; at the top of the outcome, before any write.",
      properties: {
        desired: { ...count, description: "Boards that should have a pod." },
        maxUnavailable: { ...count, description: "In boards: shares are worked out." },
        maxSurge: { ...count, description: "In boards." },
        unavailable: { ...count, description: "Without surge: boards that lack an available pod." },
        surging: { ...count, description: "With surge: boards whose new pod is not available yet." },
        delete: { type: "array", items: { type: "string" }, description: "Old pods that may go now." },
        create: {
          type: "array",
          items: { type: "string" },
          description: "Boards that get a new pod beside the old one.",
        },
      },
    },
    pods: {
      type: "array",
      description: "The pods that are there, by name.",
      items: {
        type: "object",
        properties: {
          name: { type: "string" },
          node: { type: "string", description: "Its board, or the one that it was made for." },
          bound: { type: "boolean" },
          phase: { type: "string" },
          terminating: { type: "boolean" },
          hash: { type: "string", description: "Its label controller-revision-hash." },
          owner: { type: "string", enum: ["set", "another"] },
        },
      },
    },
    status: {
      type: "object",
      description: "The status of the set in the API. A count of 0 that was never written is absent.",
      properties: Object.fromEntries(
        [
          "desiredNumberScheduled",
          "currentNumberScheduled",
          "numberMisscheduled",
          "numberReady",
          "updatedNumberScheduled",
          "numberAvailable",
          "numberUnavailable",
          "observedGeneration",
          "collisionCount",
        ].map((name) => [name, count]),
      ),
    },
    revisions: {
      type: "array",
      description: "The ControllerRevisions, by number.",
      items: {
        type: "object",
        properties: { name: { type: "string" }, revision: count, hash: { type: "string" }, owner: { type: "string" } },
      },
    },
    writes: journalSchema.writes,
    events: journalSchema.events,
    steps: {
      type: "array",
      description: "One entry for each step: boards, pods, status and revisions after everything of that instant.",
    },
  },
};
