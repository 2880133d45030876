// What a living kubelet reports: pressure, not ready, cordoned; and heartbeats by status alone.
export default {
  title: "conditions become taints, and a kubelet that says NotReady is believed",
  steps: [
    {
      name: "two boards",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await site.pod("web", { node: "n1" });
      },
      until: (now) => now.podReady("web") === "True",
    },
    {
      name: "memory and disk pressure",
      do: (site) => site.report("n1", { MemoryPressure: "True", DiskPressure: "True" }),
      until: (now) => now.tainted("n1", "memory-pressure:NoSchedule") && now.tainted("n1", "disk-pressure:NoSchedule"),
      timing: 2,
    },
    {
      name: "the pressure is over",
      do: (site) => site.report("n1", { MemoryPressure: "False", DiskPressure: "False" }),
      until: (now) => !now.taints("n1").length,
      timing: 2,
    },
    {
      name: "the kubelet reports not ready",
      do: (site) => site.report("n1", { Ready: "False" }),
      until: (now) => now.tainted("n1", "not-ready:NoExecute") && now.tainted("n1", "not-ready:NoSchedule"),
      timing: 2.5,
    },
    {
      name: "and then falls silent: the taints are exchanged",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute") && !now.tainted("n1", "not-ready:NoExecute"),
      timing: 2.5,
    },
    {
      name: "it is back and ready",
      do: async (site) => {
        await site.wake("n1");
        await site.report("n1", { Ready: "True" });
      },
      until: (now) => !now.taints("n1").length && now.condition("n1") === "True",
    },
    {
      name: "cordoned",
      do: (site) => site.cordon("n2"),
      until: (now) => now.tainted("n2", "unschedulable:NoSchedule"),
      timing: 2,
    },
    { name: "uncordoned", do: (site) => site.cordon("n2", false), until: (now) => !now.taints("n2").length, timing: 2 },
    { name: "heartbeats by status only keep it alive", do: (site) => site.heartbeat("n2", "status"), hold: 9 },
    {
      name: "without any it is lost",
      do: (site) => site.heartbeat("n2", "none"),
      until: (now) => now.condition("n2") === "Unknown",
      timing: 2.5,
    },
  ],
};
