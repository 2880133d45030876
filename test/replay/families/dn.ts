import { family } from "../family.ts";
import { config, event, given } from "./daemon/forms.ts";
import { outcomeSchema } from "./daemon/outcome.ts";
import { runDaemonStory } from "./daemon/run.ts";

/**
 * On which boards pods of a set should run, and on which they may continue
 * (docs/kubernetes-rules.md#daemon-tolerations, #daemon-eligibility), and which changes of a board enqueue the set
 * (5.11).
 */
export const dn = family({
  name: "DN",
  title: "the boards of a DaemonSet: on which its pods run, and on which they may stay",
  about:
    "As DP; the member boards of the outcome says of each board what is right for it, at the end and after each step. A " +
    "Node in short that is unschedulable carries no taint for it unless the case says so.",
  config,
  given,
  event,
  outcome: outcomeSchema,
  examples: [
    {
      id: "an untolerated taint",
      family: "DN",
      given: { nodes: [{ name: "n1", taints: ["maintenance:NoExecute"] }] },
      expect: { boards: { n1: { shouldRun: false, shouldContinue: false } }, created: [] },
    },
  ],
  run: runDaemonStory,
});
