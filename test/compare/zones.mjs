// Zones: one falls silent completely, then all do, then one comes back: normal, full, master disruption and its end.
export default {
  title: "a zone falls silent, then the other too, then one comes back",
  options: { "node-eviction-rate": "0.1" },
  steps: [
    {
      name: "two zones of two boards",
      do: async (site) => {
        await site.nodes(["a1", "a2"], { zone: "a" });
        await site.nodes(["b1", "b2"], { zone: "b" });
        for (const node of ["a1", "b1"]) await site.pod(`on-${node}`, { node });
      },
      until: (now) =>
        ["a1", "a2", "b1", "b2"].every((node) => now.condition(node) === "True" && !now.taints(node).length),
    },
    {
      name: "zone a falls silent and is evicted at the normal rate",
      do: (site) => site.silence("a1", "a2"),
      until: (now) => ["a1", "a2"].every((node) => now.tainted(node, "unreachable:NoExecute")),
      timing: 3,
    },
    {
      // It uses up its zone's token. If one were left, kube-controller-manager might taint a board in the pass that
      // goes dark.
      name: "one of zone b too",
      do: (site) => site.silence("b1"),
      until: (now) => now.tainted("b1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "and the other one: no further eviction",
      do: (site) => site.silence("b2"),
      until: (now) =>
        ["a1", "a2", "b1", "b2"].every(
          (node) => now.condition(node) === "Unknown" && !now.tainted(node, "unreachable:NoExecute"),
        ),
      timing: 3,
    },
    { name: "and it stays so", hold: 4 },
    {
      name: "zone b is back: zone a is evicted again",
      do: (site) => site.wake("b1", "b2"),
      until: (now) =>
        ["a1", "a2"].every((node) => now.tainted(node, "unreachable:NoExecute")) &&
        !now.taints("b1").length &&
        !now.taints("b2").length,
      within: 45,
      timing: 4,
    },
    {
      name: "zone a is back",
      do: (site) => site.wake("a1", "a2"),
      until: (now) => ["a1", "a2"].every((node) => !now.taints(node).length),
    },
  ],
};
