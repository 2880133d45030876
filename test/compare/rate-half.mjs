// Half a board a second.
export default {
  title: "half a board a second",
  options: { "node-eviction-rate": "0.5", "unhealthy-zone-threshold": "1.0" },
  steps: [
    {
      name: "boards",
      do: (site) => site.nodes(["n1", "n2", "n3", "n4", "n5", "n6"], { zone: "a" }),
      until: (now) => now.condition("n6") === "True",
    },
    {
      name: "five of six fall silent: with this threshold the zone is not disrupted",
      do: (site) => site.silence("n1", "n2", "n3", "n4", "n5"),
      until: (now) => ["n1", "n2", "n3", "n4", "n5"].every((node) => now.tainted(node, "unreachable:NoExecute")),
      timing: 5,
    },
    {
      name: "all back",
      do: (site) => site.wake("n1", "n2", "n3", "n4", "n5"),
      until: (now) => ["n1", "n2", "n3", "n4", "n5"].every((node) => !now.taints(node).length),
    },
  ],
};
