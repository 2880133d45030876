// Pods that fail, or end, on a board.
export default {
  title: "failed and succeeded daemon pods are replaced, failed ones ever more slowly",
  steps: [
    {
      name: "two boards",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await site.daemonSet("agent");
      },
      until: (now) => now.rolled("agent", 2),
    },
    {
      name: "one fails and is replaced",
      do: (site) => site.says("pod/agent@n1", { phase: "Failed", reason: "Evicted" }),
      until: (now) => now.rolled("agent", 2),
    },
    {
      name: "the next one fails at once: it has to wait",
      do: (site) => site.says("pod/agent@n1", { phase: "Failed" }),
      within: 20,
      until: (now) => now.rolled("agent", 2),
      timing: 3,
    },
    {
      name: "one succeeds: it should not have ended",
      do: (site) => site.says("pod/agent@n2", { phase: "Succeeded" }),
      until: (now) => now.rolled("agent", 2),
    },
  ],
};
