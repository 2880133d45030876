// Which boards a DaemonSet is for, and the effects when that changes.
const inZone = (zone) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: "room", operator: "In", values: [zone] }] },
          { matchFields: [{ key: "metadata.name", operator: "In", values: ["n4"] }] },
        ],
      },
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchExpressions: [{ key: "fast", operator: "Exists" }] } },
      ],
    },
  },
});

export default {
  title: "boards become eligible and cease to be",
  steps: [
    {
      name: "four boards, three sets",
      do: async (site) => {
        await site.node("n1", { labels: { room: "a", disk: "ssd" } });
        await site.node("n2", {
          labels: { room: "b", disk: "ssd" },
          taints: [{ key: "own", value: "x", effect: "NoSchedule" }],
        });
        await site.node("n3", { labels: { room: "a" }, unschedulable: true });
        await site.node("n4", { labels: { room: "b" } });
        await site.daemonSet("rooms", { template: inZone("a") });
        await site.daemonSet("disks", {
          template: { nodeSelector: { disk: "ssd" }, tolerations: [{ key: "own", operator: "Exists" }] },
        });
        await site.daemonSet("net", { template: { hostNetwork: true, nodeName: "n4" } });
      },
      until: (now) => now.rolled("rooms", 3) && now.rolled("disks", 2) && now.rolled("net", 1),
    },
    {
      name: "a label comes",
      do: (site) => site.label("node/n4", { disk: "ssd" }),
      until: (now) => now.rolled("disks", 3),
    },
    {
      name: "a label goes",
      do: (site) => site.label("node/n1", { disk: null }),
      until: (now) => now.rolled("disks", 2),
    },
    {
      name: "no new pods on n1: existing ones stay, and the counts are unchanged",
      do: (site) => site.taint("n1", { key: "maintenance", effect: "NoSchedule" }),
      hold: 3,
    },
    {
      name: "something wakes the set: it counts",
      do: (site) => site.annotate("daemonset/rooms", { note: "seen" }),
      until: (now) => now.daemon("rooms").numberMisscheduled === 1,
    },
    {
      name: "the taint goes: it is right there again",
      do: (site) => site.untaint("n1", "maintenance"),
      until: (now) => now.daemon("rooms").numberMisscheduled === 0,
    },
    {
      name: "nothing may stay on n3",
      do: (site) => site.taint("n3", { key: "broken", effect: "NoExecute" }),
      until: (now) => now.podsOf("rooms", "n3").length === 0 && now.daemon("rooms").desiredNumberScheduled === 2,
    },
    {
      name: "PreferNoSchedule means nothing here",
      do: (site) => site.taint("n4", { key: "rather", effect: "PreferNoSchedule" }),
      hold: 2,
    },
    {
      name: "disk pressure on n4",
      do: (site) => site.report("n4", { DiskPressure: "True" }),
      until: (now) => now.tainted("n4", "disk-pressure:NoSchedule"),
      hold: 3,
    },
    {
      name: "no network on n4",
      do: (site) => site.report("n4", { NetworkUnavailable: "True" }),
      until: (now) => now.tainted("n4", "network-unavailable:NoSchedule"),
      hold: 3,
    },
    {
      name: "both count",
      do: async (site) => {
        await site.annotate("daemonset/rooms", { note: "2" });
        await site.annotate("daemonset/net", { note: "2" });
      },
      hold: 2,
    },
  ],
};
