// A large zone that is mostly silent goes on at the secondary rate.
export default {
  title: "a large zone is evicted slowly",
  options: { "large-cluster-size-threshold": "3", "node-eviction-rate": "5", "secondary-node-eviction-rate": "0.4" },
  steps: [
    {
      name: "five boards",
      do: (site) => site.nodes(["n1", "n2", "n3", "n4", "n5"], { zone: "a" }),
      until: (now) => ["n1", "n2", "n3", "n4", "n5"].every((node) => now.condition(node) === "True"),
    },
    {
      name: "one falls silent",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 2.5,
    },
    {
      name: "two more: the zone is partly disrupted and evicted at 0.4 a second",
      do: (site) => site.silence("n2", "n3"),
      until: (now) => now.tainted("n2", "unreachable:NoExecute") && now.tainted("n3", "unreachable:NoExecute"),
      timing: 3.5,
    },
    {
      name: "one comes back: normal again",
      do: (site) => site.wake("n1"),
      until: (now) => !now.taints("n1").length,
      timing: 2.5,
    },
    {
      name: "the next goes at the normal rate",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 4,
    },
  ],
};
