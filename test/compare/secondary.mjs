// A large zone that turns partly disrupted while boards wait, and a small one beside it.
export default {
  title: "secondary rate zero and a small zone beside",
  // A token that is free while a zone becomes disrupted goes to a board noticed one pass earlier, so the first boards
  // use it up.
  options: { "large-cluster-size-threshold": "4", "node-eviction-rate": "0.1", "secondary-node-eviction-rate": "0" },
  steps: [
    {
      name: "boards",
      do: async (site) => {
        await site.nodes(["a1", "a2", "a3", "a4", "a5"], { zone: "a" });
        await site.nodes(["b1", "b2", "b3", "b4"], { zone: "b" });
      },
      until: (now) => now.condition("b4") === "True",
    },
    {
      name: "one in each",
      do: (site) => site.silence("a1", "b1"),
      until: (now) => now.tainted("a1", "unreachable:NoExecute") && now.tainted("b1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "three of each: no further board",
      do: (site) => site.silence("a2", "a3", "b2", "b3"),
      until: (now) => ["a2", "a3", "b2", "b3"].every((n) => now.condition(n) === "Unknown"),
      hold: 10,
    },
    {
      name: "a2 and b2 are back: the others get their turn a full interval later",
      do: (site) => site.wake("a2", "b2"),
      until: (now) => now.tainted("a3", "unreachable:NoExecute") && now.tainted("b3", "unreachable:NoExecute"),
      timing: 3.5,
    },
    {
      name: "the rest",
      do: (site) => site.wake("a1", "a3", "b1", "b3"),
      until: (now) => ["a1", "a3", "b1", "b3"].every((n) => !now.taints(n).length),
    },
  ],
};
