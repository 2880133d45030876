// A pod counts only when it has been ready for a while.
export default {
  title: "minReadySeconds",
  steps: [
    {
      name: "two boards, three seconds",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await site.daemonSet("agent", { minReadySeconds: 3 });
      },
      within: 20,
      until: (now) => now.rolled("agent", 2),
      timing: 3,
    },
    {
      name: "an update takes its time",
      do: (site) => site.roll("agent", "example/agent:2"),
      within: 40,
      until: (now) => now.rolled("agent", 2),
      timing: 5,
    },
    {
      name: "one is not ready for a moment",
      do: async (site) => {
        await site.says("pod/agent@n1", { ready: false });
        await site.wait((now) => now.daemon("agent").numberReady === 1);
        await site.says("pod/agent@n1", { ready: true });
      },
      within: 20,
      until: (now) => now.rolled("agent", 2),
      timing: 3,
    },
    {
      name: "a restart forgets nothing",
      do: async (site) => {
        await site.stopControllers();
        await site.startControllers();
      },
      hold: 3,
      until: (now) => now.rolled("agent", 2),
    },
  ],
};
