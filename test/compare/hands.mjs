// Manual changes to boards: lifecycle taints set by hand, labels, pods without tolerations, finalizers.
export default {
  title: "hands on boards",
  steps: [
    {
      name: "boards and pods",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.node("nr", { ready: false });
        await site.pod("plain", { node: "n1" });
        await site.pod("kept", { node: "n1", finalizers: ["example.dev/keep"] });
        await site.pod("default-times", { node: "n2" });
      },
      until: (now) =>
        now.podReady("plain") === "True" && now.podReady("kept") === "True" && now.tainted("nr", "not-ready:NoExecute"),
      timing: 3,
    },
    {
      name: "unreachable by hand on a healthy board is taken away",
      do: (site) => site.taint("n2", { key: "node.kubernetes.io/unreachable", effect: "NoExecute" }),
      until: (now) => !now.taints("n2").length,
      timing: 2.5,
    },
    {
      name: "not-ready:NoSchedule by hand too",
      do: (site) => site.taint("n2", { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }),
      until: (now) => !now.taints("n2").length,
      timing: 2.5,
    },
    {
      name: "PreferNoSchedule and others stay",
      do: (site) =>
        site.taint(
          "n2",
          { key: "example.dev/slow", effect: "PreferNoSchedule" },
          { key: "example.dev/gpu", value: "yes", effect: "NoSchedule" },
        ),
      hold: 3,
    },
    {
      name: "NoExecute by hand: both pods leave, one hangs on its finalizer",
      do: (site) => site.taint("n1", { key: "example.dev/service", effect: "NoExecute" }),
      until: (now) => now.gone("plain") && now.leaving("kept"),
    },
    {
      name: "the other board reports ready",
      do: (site) => site.report("nr", { Ready: "True" }),
      until: (now) => !now.taints("nr").length,
      timing: 3,
    },
    {
      name: "network unavailable",
      do: (site) => site.report("n3", { NetworkUnavailable: "True" }),
      until: (now) => now.tainted("n3", "network-unavailable:NoSchedule"),
      timing: 2,
    },
    {
      name: "and silent at the same time",
      do: (site) => site.silence("n3"),
      until: (now) => now.tainted("n3", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "labels of its architecture change",
      do: (site) => site.label("node/n2", { "kubernetes.io/arch": "arm", "beta.kubernetes.io/arch": "amd64" }),
      hold: 3,
    },
  ],
};
