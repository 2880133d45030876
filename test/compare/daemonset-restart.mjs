// The controllers are away while something happens.
export default {
  title: "changes made while no controller runs are caught up on",
  steps: [
    {
      name: "three boards",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.daemonSet("agent");
      },
      until: (now) => now.rolled("agent", 3),
    },
    {
      name: "a board comes, a pod goes, the template changes",
      do: async (site) => {
        await site.stopControllers();
        await site.node("n4");
        await site.delete("pod/agent@n1");
        await site.roll("agent", "example/agent:2");
        await site.startControllers();
      },
      hold: 3,
      until: (now) => now.daemon("agent").updatedNumberScheduled === 4,
    },
    {
      name: "the set is made anew under its name",
      do: async (site) => {
        await site.stopControllers();
        await site.delete("daemonset/agent", { propagationPolicy: "Background" });
        await site.daemonSet("agent", { image: "example/agent:3" });
        await site.startControllers();
      },
      hold: 4,
    },
  ],
};
