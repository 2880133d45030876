// Partial disruption: three of four boards of a small zone are silent, so evictions stop; once one more is back they
// continue.
export default {
  title: "a small zone that is mostly silent is not evicted",
  options: { "node-eviction-rate": "0.2" },
  steps: [
    {
      name: "five boards",
      do: (site) => site.nodes(["n1", "n2", "n3", "n4", "n5"], { zone: "a" }),
      until: (now) => ["n1", "n2", "n3", "n4", "n5"].every((node) => now.condition(node) === "True"),
    },
    {
      name: "one falls silent and is tainted",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 6,
    },
    {
      name: "two more fall silent: no other board is tainted",
      do: (site) => site.silence("n2", "n3"),
      until: (now) => now.condition("n2") === "Unknown" && now.condition("n3") === "Unknown",
      hold: 12,
    },
    {
      name: "all come back",
      do: (site) => site.wake("n1", "n2", "n3"),
      until: (now) => ["n1", "n2", "n3"].every((node) => now.condition(node) === "True" && !now.taints(node).length),
    },
  ],
};
