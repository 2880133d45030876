// Other periods, a slow client, and a first status that never comes.
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));

export default {
  title: "a monitor period of two seconds, and a grace period that is no multiple of it",
  options: {
    "node-monitor-period": "2s",
    "node-monitor-grace-period": "7s",
    "node-startup-grace-period": "12s",
    "node-eviction-rate": "0.3",
    "kube-api-qps": "5",
    "kube-api-burst": "10",
  },
  steps: [
    {
      name: "boards, and one without a status",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5", "n6", "n7"]);
        await site.pod("web", { node: "n1" });
        await site.node("mute", { silent: true });
      },
      until: (now) => now.podReady("web") === "True" && now.condition("mute") === "Unknown",
      timing: 4,
    },
    {
      name: "two are lost",
      do: (site) => site.silence("n1", "n2"),
      until: (now) => lost(now, "n1", "n2"),
      timing: 4,
    },
    {
      name: "and back",
      do: (site) => site.wake("n1", "n2"),
      until: (now) => ["n1", "n2"].every((node) => !now.taints(node).length) && now.podReady("web") === "True",
      timing: 3,
    },
  ],
};
