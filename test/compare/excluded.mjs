// Boards that are left out of the disruption count, a board that changes its zone, and one that is recreated.
export default {
  title: "exclusion, a new zone, a board made anew",
  // So low that no board finds a free token when the site goes dark: otherwise kube-controller-manager's own outcome
  // varies.
  options: { "node-eviction-rate": "0.08" },
  steps: [
    {
      name: "four boards, one excluded",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"], { zone: "a" });
        await site.node("out", { zone: "a", labels: { "node.kubernetes.io/exclude-disruption": "" } });
        await site.pod("on-out", { node: "out" });
      },
      until: (now) => ["n1", "n2", "n3", "out"].every((node) => now.condition(node) === "True"),
    },
    {
      name: "the excluded one falls silent: tainted all the same",
      do: (site) => site.silence("out"),
      until: (now) => now.tainted("out", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "all others too: they are all there is, so nothing is evicted",
      do: (site) => site.silence("n1", "n2", "n3"),
      until: (now) => ["n1", "n2", "n3"].every((node) => now.condition(node) === "Unknown"),
      hold: 9,
    },
    {
      name: "they come back",
      do: (site) => site.wake("n1", "n2", "n3", "out"),
      until: (now) => ["n1", "n2", "n3", "out"].every((node) => !now.taints(node).length),
    },
    {
      name: "n3 moves to a zone of its own and falls silent",
      do: async (site) => {
        await site.label("node/n3", { "topology.kubernetes.io/zone": "b" });
        site.silence("n3");
      },
      until: (now) => now.tainted("n3", "unreachable:NoExecute"),
      timing: 4,
    },
    // It may take kube-controller-manager several passes to forget a zone that is gone, and its allowance with it.
    { name: "it is deleted", do: (site) => site.removeNode("n3"), hold: 8 },
    {
      name: "and made anew",
      do: (site) => site.node("n3", { zone: "b" }),
      until: (now) => now.condition("n3") === "True" && !now.taints("n3").length,
      hold: 3,
    },
    {
      name: "it falls silent again",
      do: (site) => site.silence("n3"),
      until: (now) => now.tainted("n3", "unreachable:NoExecute"),
      timing: 4,
    },
  ],
};
