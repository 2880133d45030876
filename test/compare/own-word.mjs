// All boards themselves report that they are not ready.
export default {
  title: "every board reports that it is not ready",
  // So low that no board finds a free token when the site goes dark: otherwise kube-controller-manager's own outcome
  // varies.
  options: { "node-eviction-rate": "0.1" },
  steps: [
    {
      name: "three boards",
      do: (site) => site.nodes(["n1", "n2", "n3"]),
      until: (now) => now.condition("n3") === "True",
    },
    {
      name: "n1 is not ready",
      do: (site) => site.report("n1", { Ready: "False" }),
      until: (now) => now.tainted("n1", "not-ready:NoExecute"),
      timing: 2.5,
    },
    {
      name: "n2 is silent",
      do: (site) => site.silence("n2"),
      until: (now) => now.tainted("n2", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "n3 is not ready",
      do: (site) => site.report("n3", { Ready: "False" }),
      until: (now) => now.tainted("n3", "not-ready:NoSchedule") && !now.tainted("n1", "not-ready:NoExecute"),
      hold: 5,
    },
    {
      name: "n3 falls silent in the dark",
      do: (site) => site.silence("n3"),
      until: (now) => now.condition("n3") === "Unknown",
      hold: 4,
    },
    { name: "n4 joins not ready", do: (site) => site.node("n4", { ready: false }), hold: 5 },
    {
      name: "n4 is ready, and so are two new ones",
      do: async (site) => {
        await site.report("n4", { Ready: "True" });
        await site.nodes(["n5", "n6"]);
      },
      until: (now) =>
        now.tainted("n2", "unreachable:NoExecute") &&
        now.tainted("n3", "unreachable:NoExecute") &&
        now.tainted("n1", "not-ready:NoExecute"),
      within: 50,
      timing: 4,
    },
    {
      name: "all are",
      do: async (site) => {
        for (const n of ["n1", "n2", "n3"]) {
          await site.report(n, { Ready: "True" });
          await site.wake(n);
        }
      },
      until: (now) => ["n1", "n2", "n3", "n4"].every((n) => !now.taints(n).length),
    },
  ],
};
