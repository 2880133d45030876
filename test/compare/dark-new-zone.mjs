// A dark site, and a board of a new zone: kube-controller-manager still evicts nothing.
export default {
  title: "a board of a new zone joins a dark site",
  // So low that no board finds a free token when the site goes dark: otherwise kube-controller-manager's own outcome
  // varies.
  options: { "node-eviction-rate": "0.1" },
  steps: [
    {
      name: "two boards",
      do: (site) => site.nodes(["a1", "a2"], { zone: "a" }),
      until: (now) => now.condition("a2") === "True",
    },
    {
      name: "a1",
      do: (site) => site.silence("a1"),
      until: (now) => now.tainted("a1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "a2",
      do: (site) => site.silence("a2"),
      until: (now) => now.condition("a2") === "Unknown" && !now.tainted("a1", "unreachable:NoExecute"),
      hold: 8,
    },
    { name: "b1 joins", do: (site) => site.node("b1", { zone: "b" }), hold: 15 },
    {
      name: "a2 is back",
      do: (site) => site.wake("a2"),
      until: (now) => !now.taints("a2").length && now.tainted("a1", "unreachable:NoExecute"),
      timing: 3,
    },
  ],
};
