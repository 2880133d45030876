// A zone is disrupted from three boards in ten; boards that wait then get their turns once enough are back.
export default {
  title: "a lower threshold, and who waits while a zone is disrupted",
  options: { "node-eviction-rate": "0.2", "unhealthy-zone-threshold": "0.3" },
  steps: [
    {
      name: "ten boards",
      do: (site) => site.nodes(["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"], { zone: "a" }),
      until: (now) => now.condition("n9") === "True",
    },
    {
      name: "one is tainted",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "two more fall silent: three of ten, no other board is tainted",
      do: (site) => site.silence("n2", "n3"),
      until: (now) => now.condition("n2") === "Unknown" && now.condition("n3") === "Unknown",
      hold: 14,
    },
    {
      name: "n3 is back: n2 gets its turn, a full interval later",
      do: (site) => site.wake("n3"),
      until: (now) => now.tainted("n2", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "all are back",
      do: (site) => site.wake("n1", "n2"),
      until: (now) => ["n1", "n2", "n3"].every((node) => !now.taints(node).length),
    },
  ],
};
