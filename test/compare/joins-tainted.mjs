// Nodes that are tainted before they are first seen: at the start, later, and in the dark.
const taints = [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }];
const free = (now, node) => now.condition(node) !== "True" && !now.tainted(node, "unreachable:NoExecute");

export default {
  title: "tainted Nodes that are new",
  options: { "node-startup-grace-period": "10m" },
  before: (site) => site.node("first", { silent: true, taints }),
  steps: [
    {
      name: "one that is there at the start loses its taint, and so does one that joins",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await site.node("second", { silent: true, taints });
      },
      until: (now) => now.condition("n2") === "True" && free(now, "first") && free(now, "second"),
      hold: 2,
    },
    {
      name: "the site goes dark",
      do: (site) => site.silence("n1", "n2"),
      until: (now) => now.condition("n1") === "Unknown" && now.condition("n2") === "Unknown",
      hold: 3,
    },
    {
      name: "one that joins in the dark loses its taint as well",
      do: (site) => site.node("third", { silent: true, taints }),
      until: (now) => free(now, "third"),
      hold: 3,
    },
  ],
};
