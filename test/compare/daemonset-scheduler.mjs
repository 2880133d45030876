// The real kube-scheduler binds the pods: a board without room waits.
export default {
  title: "with the real scheduler",
  scheduler: true,
  steps: [
    {
      name: "fits on two of three",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.pod("big", {
          node: "n3",
          containers: [{ name: "m", image: "x", resources: { requests: { cpu: "3900m" } } }],
        });
        await site.daemonSet("agent", {
          template: {
            containers: [{ name: "main", image: "example/agent:1", resources: { requests: { cpu: "500m" } } }],
          },
        });
      },
      within: 30,
      until: (now) => now.daemon("agent").numberReady === 2 && now.podsOf("agent").length === 3,
    },
    { name: "room comes", do: (site) => site.delete("pod/big"), within: 60, until: (now) => now.rolled("agent", 3) },
    {
      name: "a new image",
      do: (site) => site.roll("agent", "example/agent:2"),
      within: 60,
      until: (now) => now.rolled("agent", 3),
    },
    { name: "cordoned", do: (site) => site.cordon("n1"), hold: 3 },
    {
      name: "its pod is deleted, and comes back there",
      do: (site) => site.delete("pod/agent@n1"),
      within: 30,
      until: (now) => now.rolled("agent", 3),
    },
  ],
};
