// Boards that join, never report and are deleted, and a pod that is bound to a lost board.
export default {
  title: "newcomers: never reported, deleted, and a pod on a lost board",
  options: { "node-startup-grace-period": "6s" },
  steps: [
    {
      name: "two boards, and one that never posts a status",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await site.node("mute", { silent: true });
      },
      until: (now) => now.condition("mute") === "Unknown",
      timing: 3,
    },
    {
      name: "n1 falls silent",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "a pod comes to it that tolerates everything",
      do: (site) => site.pod("late", { node: "n1", tolerations: [{ operator: "Exists" }] }),
      hold: 3,
    },
    {
      name: "n2 is deleted",
      do: (site) => site.removeNode("n2"),
      until: (now) => now.gone("n2", "Node") || true,
      hold: 3,
    },
    {
      name: "n3 joins with labels",
      do: (site) => site.node("n3", { labels: { "beta.kubernetes.io/os": "windows" } }),
      until: (now) => now.condition("n3") === "True",
      hold: 2,
    },
  ],
};
