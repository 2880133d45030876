// The whole site is lost, and one zone comes back.
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);

export default {
  title: "a site goes dark, and one zone comes back",
  options: { "node-eviction-rate": "0.08" },
  steps: [
    {
      name: "two zones; in each a board that is not ready takes the first token",
      do: async (site) => {
        await site.nodes(["a1", "a2"], { zone: "a" });
        await site.node("b1", { zone: "b" });
        await site.node("a0", { zone: "a", ready: false });
        await site.node("b0", { zone: "b", ready: false });
        await site.pod("web", { node: "a1" });
      },
      until: (now) =>
        now.podReady("web") === "True" &&
        now.tainted("a0", "not-ready:NoExecute") &&
        now.tainted("b0", "not-ready:NoExecute"),
      timing: 3,
    },
    {
      name: "those are deleted, the others fall silent: no eviction",
      do: async (site) => {
        await site.removeNode("a0");
        await site.removeNode("b0");
        site.silence("a1", "a2", "b1");
      },
      until: (now) =>
        ["a1", "a2", "b1"].every((node) => now.condition(node) === "Unknown") && now.podReady("web") === "False",
      hold: 18,
      timing: 3,
    },
    {
      name: "zone b is back: zone a is evicted, after a fresh grace period and at its rate",
      do: (site) => site.wake("b1"),
      until: (now) => lost(now, "a1", "a2"),
      within: 45,
      timing: 4,
    },
    {
      name: "zone a is back",
      do: (site) => site.wake("a1", "a2"),
      until: (now) => ready(now, "a1", "a2", "b1") && now.podReady("web") === "True",
    },
  ],
};
