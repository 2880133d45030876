import { family } from "../family.ts";
import { config, event, given } from "./daemon/forms.ts";
import { outcomeSchema } from "./daemon/outcome.ts";
import { runDaemonStory } from "./daemon/run.ts";

/**
 * The lifecycle of a set's pods, board by board (docs/kubernetes-rules.md#daemon-pod, #daemon-sync, #revision-history,
 * #daemon-triggers).
 */
export const dp = family({
  name: "DP",
  title: "the pods of a DaemonSet: one on each board that should have one",
  about:
    "The controller of the program (daemonset) in its control loop, on one DaemonSet called agent, against an API server " +
    "in memory that deletes a pod at once. Nobody judges the boards, and nothing binds or starts the pods unless startsMs " +
    "says so. The revisions that the given pods speak of are there. Names of pods that are made are agent-1, agent-2, ... " +
    "in the order in which they are sent. As in Kubernetes 1.36.",
  config,
  given,
  event,
  outcome: outcomeSchema,
  examples: [
    {
      id: "a failed pod is replaced",
      family: "DP",
      given: { nodes: ["n1"], pods: [{ name: "p1", node: "n1", phase: "Failed" }] },
      expect: { deleted: [{ atMs: 0, pod: "p1", node: "n1" }], created: [{ atMs: 0, pod: "agent-1", node: "n1" }] },
    },
    {
      id: "one of two is refused",
      family: "DP",
      given: { nodes: ["n1", "n2"] },
      steps: [{ atMs: 0, event: { do: "refuseCreation", nth: 2, reason: "InternalError", times: 1 } }],
      expect: { passes: { contains: [{ attempted: 2, refused: 1, skipped: 0, lowered: 1 }] } },
    },
  ],
  run: runDaemonStory,
});
