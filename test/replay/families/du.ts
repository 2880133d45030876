import { family } from "../family.ts";
import { config, event, given } from "./daemon/forms.ts";
import { outcomeSchema } from "./daemon/outcome.ts";
import { runDaemonStory } from "./daemon/run.ts";

/** How a new template reaches the boards (docs/kubernetes-rules.md#rolling-update). */
export const du = family({
  name: "DU",
  title: "updates of a DaemonSet: how many boards at a time",
  about:
    "As DP, with what counts in an update: the member update of the outcome says it of the set as it is given, before " +
    "anything was done, and of each step. Pods of the old template say so (of: old). As in Kubernetes 1.36.3: an old pod " +
    "that is not available goes at once, whatever the limit, and counts against it (older releases did not count it).",
  config,
  given,
  event,
  outcome: outcomeSchema,
  examples: [
    {
      id: "one at a time",
      family: "DU",
      config: { startsMs: 1000 },
      given: {
        nodes: ["n1", "n2"],
        pods: [
          { name: "a", node: "n1", of: "old" },
          { name: "b", node: "n2", of: "old" },
        ],
      },
      expect: {
        update: { desired: 2, maxUnavailable: 1, maxSurge: 0, unavailable: 0 },
        deleted: [
          { atMs: 0, pod: "a", node: "n1" },
          { atMs: 1000, pod: "b", node: "n2" },
        ],
      },
    },
  ],
  run: runDaemonStory,
});
