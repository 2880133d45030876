// An update that creates the new pod before deleting the old one.
const surge = (maxSurge) => ({
  updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable: 0 } },
});

export default {
  title: "updates with maxSurge",
  steps: [
    {
      name: "three boards",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.daemonSet("agent", surge(1));
      },
      until: (now) => now.rolled("agent", 3),
    },
    {
      name: "one after the other",
      do: (site) => site.roll("agent", "example/agent:2"),
      until: (now) => now.rolled("agent", 3),
    },
    {
      name: "all at once, and the new ones do not become ready",
      do: async (site) => {
        await site.patch("daemonset/agent", { spec: surge("100%") });
        await site.roll("agent", "example/agent:3", { ready: "false" });
      },
      until: (now) => now.podsOf("agent").length === 6 && now.podsOf("agent").every(({ spec }) => spec.nodeName),
    },
    {
      name: "an old one breaks: it goes, and the new one stays",
      do: (site) => site.says(`pod/${site.oldest("agent", "n1")}`, { ready: false }),
      until: (now) => now.podsOf("agent").length === 5,
    },
    {
      name: "one that works is rolled out",
      do: (site) => site.roll("agent", "example/agent:4", { ready: "true" }),
      until: (now) => now.rolled("agent", 3),
    },
    {
      name: "a board does not want it any more, and its pod serves",
      do: (site) => site.taint("n3", { key: "keep", effect: "NoSchedule" }),
      hold: 3,
    },
    {
      name: "an update: the pod on that board goes too",
      do: (site) => site.roll("agent", "example/agent:5"),
      until: (now) => now.rolled("agent", 2),
    },
  ],
};
