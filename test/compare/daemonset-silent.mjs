// Boards that fall silent, with daemon pods on them.
export default {
  title: "daemon pods stay on a silent board, and an update goes round it",
  steps: [
    {
      name: "three boards",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        // They terminate slowly, so that a returning board is known to be back when it gets its next pod.
        await site.daemonSet("agent", { play: { finish: 3 } });
      },
      until: (now) => now.rolled("agent", 3),
    },
    {
      name: "n3 falls silent; once it is tainted something wakes the set: before that it depends on the moment what it counts",
      do: async (site) => {
        site.silence("n3");
        await site.wait(
          (now) => now.tainted("n3", "unreachable:NoExecute") && now.tainted("n3", "unreachable:NoSchedule"),
        );
        await new Promise((resolve) => setTimeout(resolve, 1000));
        await site.annotate("daemonset/agent", { note: "look" });
      },
      until: (now) => now.daemon("agent").numberMisscheduled === 1,
      hold: 3,
    },
    {
      name: "an update with all at once",
      do: async (site) => {
        await site.patch("daemonset/agent", { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 3 } } } });
        await site.roll("agent", "example/agent:2");
      },
      hold: 3,
      until: (now) => now.daemon("agent").updatedNumberScheduled === 2 && now.daemon("agent").numberReady === 2,
    },
    {
      name: "n3 comes back",
      do: (site) => site.wake("n3"),
      within: 40,
      until: (now) => now.taints("n3").length === 0 && now.rolled("agent", 3),
    },
  ],
};
