// Restarts while boards report that they are not ready although their pods are, and while one falls silent.
export default {
  title: "restart while boards report themselves not ready, with ready pods on them",
  steps: [
    {
      name: "boards",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5"]);
        await site.pod("on-n1", { node: "n1" });
        await site.pod("on-n2", { node: "n2" });
      },
      until: (now) => now.podReady("on-n1") === "True" && now.podReady("on-n2") === "True",
    },
    {
      name: "n1 is not ready",
      do: (site) => site.report("n1", { Ready: "False" }),
      until: (now) => now.tainted("n1", "not-ready:NoExecute"),
      timing: 2.5,
    },
    {
      name: "restart",
      do: async (site) => {
        await site.stopControllers();
        await site.startControllers();
      },
      until: (now) => now.tainted("n1", "not-ready:NoExecute"),
      hold: 6,
    },
    {
      name: "n2 falls silent while they are away",
      do: async (site) => {
        await site.stopControllers();
        site.silence("n2");
        await site.startControllers();
      },
      until: (now) => now.tainted("n2", "unreachable:NoExecute") && now.podReady("on-n2") === "False",
      timing: 4,
    },
    {
      name: "restart: nothing else",
      do: async (site) => {
        await site.stopControllers();
        await site.startControllers();
      },
      until: (now) => now.tainted("n2", "unreachable:NoExecute"),
      hold: 6,
    },
    {
      name: "n2 restarts its kubelet while they are away, and is well",
      do: async (site) => {
        await site.stopControllers();
        await site.report("n2", { Ready: "False" });
        await site.report("n2", { Ready: "True" });
        await site.wake("n2");
        await site.startControllers();
      },
      until: (now) => !now.taints("n2").length && now.podReady("on-n2") === "True",
      timing: 3,
    },
  ],
};
