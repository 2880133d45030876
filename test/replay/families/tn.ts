import { lifecycleFamily } from "../site/lifecycle-family.ts";

export const tn = lifecycleFamily({
  name: "TN",
  title: "NoExecute taints of boards that are not ready, at the rate of their zone",
  about:
    "A board whose Ready condition is Unknown gets unreachable:NoExecute, one whose Ready is False not-ready:NoExecute, " +
    "one board after the other as the allowance of the zone permits.",
  readyLives: true,
  examples: [
    {
      id: "TN-01",
      family: "TN",
      config: { evictionQPS: 1_000_000 },
      given: {
        nodes: [
          { name: "n0", ready: "U" },
          { name: "n1", ready: "T" },
          { name: "n2", ready: "F" },
        ],
      },
      steps: [{ atMs: 100, event: { do: "look" } }],
      expect: {
        nodes: {
          n0: { noExecute: ["unreachable:NoExecute"] },
          n1: { noExecute: [] },
          n2: { noExecute: ["not-ready:NoExecute"] },
        },
      },
    },
    {
      id: "TN-07",
      family: "TN",
      note: "The write of the taint fails once; its token is gone.",
      given: { zones: { A: "UT" } },
      steps: [
        { atMs: 0, event: { do: "refuse", object: "A-0", part: "spec", reason: "InternalError", times: 1 } },
        { atMs: 12_000, event: { do: "look" } },
      ],
      expect: { taints: [{ atMs: { about: 10_000, within: 100 }, node: "A-0", change: "added" }] },
    },
  ],
});
