// The controllers are away while boards change in every direction.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);

export default {
  title: "boards change while no controller runs",
  steps: [
    {
      name: "eight boards, two of them not well",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]);
        await site.pod("on-n2", { node: "n2" });
        await site.pod("on-n7", { node: "n7" });
        site.silence("n1");
        await site.report("n2", { Ready: "False" });
      },
      until: (now) => now.tainted("n1", "unreachable:NoExecute") && now.tainted("n2", "not-ready:NoExecute"),
    },
    {
      name: "restart: n1 says that it is not ready, n2 falls silent, n3 is not ready, n4 has no memory, n5 is cordoned",
      do: async (site) => {
        await site.stopControllers();
        await site.report("n1", { Ready: "False" });
        await site.wake("n1");
        site.silence("n2");
        await site.report("n3", { Ready: "False" });
        await site.report("n4", { MemoryPressure: "True" });
        await site.cordon("n5");
        await site.startControllers();
      },
      until: (now) =>
        now.tainted("n1", "not-ready:NoExecute") &&
        !now.tainted("n1", "unreachable:NoExecute") &&
        now.tainted("n2", "unreachable:NoExecute") &&
        !now.tainted("n2", "not-ready:NoExecute") &&
        now.tainted("n3", "not-ready:NoExecute") &&
        now.tainted("n4", "memory-pressure:NoSchedule") &&
        now.tainted("n5", "unschedulable:NoSchedule"),
      hold: 8,
    },
    {
      name: "restart: n2 is back, n3 is ready, n4 recovers, n5 is open, n6 is gone, n9 is new, n7 is tainted by hand",
      do: async (site) => {
        await site.stopControllers();
        await site.wake("n2");
        await site.report("n2", { Ready: "True" });
        await site.report("n1", { Ready: "True" });
        await site.report("n3", { Ready: "True" });
        await site.report("n4", { MemoryPressure: "False" });
        await site.cordon("n5", false);
        await site.removeNode("n6");
        await site.node("n9", { silent: true });
        await site.taint("n7", { key: "example.dev/service", effect: "NoExecute" });
        await site.taint("n8", { key: "node.kubernetes.io/unreachable", effect: "NoExecute" });
        await site.startControllers();
      },
      until: (now) =>
        ready(now, "n1", "n2", "n3", "n4", "n5", "n8") && now.gone("on-n7") && now.condition("n9") === "Unknown",
      hold: 6,
    },
  ],
};
