// An update that waits for a person.
export default {
  title: "OnDelete: a pod is replaced when somebody deletes it",
  steps: [
    {
      name: "two boards",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await site.daemonSet("agent", { updateStrategy: { type: "OnDelete" } });
      },
      until: (now) => now.rolled("agent", 2),
    },
    {
      name: "a new template changes nothing",
      do: (site) => site.roll("agent", "example/agent:2"),
      hold: 3,
      until: (now) => now.daemon("agent").observedGeneration === 2,
    },
    {
      name: "one is deleted: the new one is of the new template",
      do: (site) => site.delete("pod/agent@n1"),
      until: (now) => now.daemon("agent").updatedNumberScheduled === 1 && now.daemon("agent").numberReady === 2,
    },
    {
      name: "rolling after all: the other one follows",
      do: (site) =>
        site.patch("daemonset/agent", {
          spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } } },
        }),
      until: (now) => now.rolled("agent", 2),
    },
  ],
};
