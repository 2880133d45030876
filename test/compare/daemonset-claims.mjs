// Pods and revisions that a DaemonSet adopts and releases.
const orphan = (site, name, node, labels) => site.pod(name, { node, labels });

export default {
  title: "a DaemonSet adopts what matches and releases what does not",
  steps: [
    {
      name: "a pod is there before the set",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await orphan(site, "early", "n1", { app: "agent" });
      },
      until: (now) => now.podReady("early") === "True",
    },
    {
      name: "the set adopts it, and replaces it: it is of no revision",
      do: (site) => site.daemonSet("agent"),
      until: (now) => now.rolled("agent", 2) && now.gone("early"),
    },
    {
      name: "a pod of other labels has no owner",
      do: (site) => orphan(site, "other", "n1", { app: "other" }),
      hold: 2,
      until: (now) => now.podReady("other") === "True",
    },
    {
      name: "its labels change: it is one too many",
      do: (site) => site.label("pod/other", { app: "agent" }),
      until: (now) => now.gone("other"),
    },
    {
      name: "a pod loses its label: it is released, and another one comes",
      do: (site) => site.label("pod/agent@n1", { app: "gone" }),
      until: (now) => now.rolled("agent", 2),
    },
    {
      name: "a pod with an owner of its own stays its own",
      do: (site) =>
        site.pod("owned", {
          node: "n2",
          labels: { app: "agent" },
          owners: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "1-2-3", controller: true }],
        }),
      hold: 2,
      until: (now) => now.podReady("owned") === "True",
    },
  ],
};
