import { lifecycleFamily } from "../site/lifecycle-family.ts";

export const hd = lifecycleFamily({
  name: "HD",
  title: "states of zones from pass to pass, and what follows for taints and rates",
  about:
    "When a zone is partly disrupted its boards are tainted more slowly or not at all; when no zone has a ready board left, " +
    "all NoExecute taints go and nothing is tainted any more.",
  readyLives: true,
  examples: [
    {
      id: "HD-05",
      family: "HD",
      given: { zones: { A: "U", B: "U" } },
      steps: [
        { atMs: 60_000, event: { do: "zone", zone: "B", ready: "T" } },
        { atMs: 80_000, event: { do: "look" } },
      ],
      expect: {
        steps: [
          {
            zones: { A: { state: "FullDisruption", qps: 0.1, tokens: 0 }, B: { state: "Normal" } },
            nodes: { "A-0": { probeMs: 60_000 }, "B-0": { probeMs: 60_000 } },
          },
          {},
        ],
        taints: [{ atMs: { notBefore: 70_000 }, node: "A-0", taint: "unreachable:NoExecute", change: "added" }],
      },
    },
    {
      id: "HD-01",
      family: "HD",
      note: "Two passes that are asked for; nothing else happens.",
      given: {
        nodes: [
          { name: "a0", zone: "A", ready: "U", taints: ["unreachable:NoExecute"] },
          { name: "a1", zone: "A", ready: "U", taints: ["unreachable:NoExecute"] },
        ],
      },
      steps: [
        { atMs: 0, event: { do: "pass" } },
        { atMs: 5000, event: { do: "pass" } },
      ],
      expect: {
        steps: [{ zones: { A: { state: "FullDisruption", qps: 0 } } }, {}],
        taints: {
          inAnyOrder: [
            { atMs: 0, node: "a0", change: "removed" },
            { atMs: 0, node: "a1", change: "removed" },
          ],
        },
        writes: { size: 2 },
      },
    },
  ],
});
