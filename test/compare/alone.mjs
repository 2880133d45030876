// A site of one board, then of two: without a ready board nothing is evicted.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);

export default {
  title: "one board, then two",
  // So low that no board finds a free token when the site goes dark: otherwise kube-controller-manager's own outcome
  // varies.
  options: { "node-eviction-rate": "0.08" },
  steps: [
    {
      name: "one board",
      do: async (site) => {
        await site.node("n1");
        await site.pod("web", { node: "n1" });
      },
      until: (now) => now.podReady("web") === "True",
    },
    {
      name: "falls silent",
      do: (site) => site.silence("n1"),
      until: (now) => now.condition("n1") === "Unknown" && now.podReady("web") === "False",
      hold: 9,
      timing: 3,
    },
    { name: "is back", do: (site) => site.wake("n1"), until: (now) => ready(now, "n1"), timing: 2.5 },
    {
      name: "it says that it is not ready",
      do: (site) => site.report("n1", { Ready: "False" }),
      until: (now) => now.tainted("n1", "not-ready:NoSchedule"),
      hold: 5,
    },
    { name: "it is ready", do: (site) => site.report("n1", { Ready: "True" }), until: (now) => ready(now, "n1") },
    { name: "a second one", do: (site) => site.node("n2"), until: (now) => ready(now, "n1", "n2") },
    {
      name: "the first falls silent",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "the second too",
      do: (site) => site.silence("n2"),
      until: (now) => now.condition("n2") === "Unknown" && !now.tainted("n1", "unreachable:NoExecute"),
      hold: 8,
    },
    {
      name: "the second is deleted: still no board is ready",
      do: (site) => site.removeNode("n2"),
      hold: 5,
    },
    {
      name: "a third one comes: n1 is tainted after a fresh grace period",
      do: (site) => site.node("n3"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 3.5,
    },
    {
      name: "and the first is deleted while it is tainted, and comes back",
      do: async (site) => {
        await site.removeNode("n1");
        await site.node("n1");
      },
      until: (now) => ready(now, "n1"),
      hold: 7,
    },
  ],
};
