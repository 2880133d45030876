// Unusual combinations of conditions: pressure that ends in silence, a cordon during it, a status with only Ready, no
// status at all.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);
const bare = (name, conditions) => ({
  kind: "Node",
  apiVersion: "v1",
  metadata: { name, labels: { "kubernetes.io/os": "linux" } },
  ...(conditions && { status: { conditions } }),
});

export default {
  title: "conditions in unusual company",
  steps: [
    {
      name: "boards, one with Ready alone, one that is not ready and has no Lease",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5", "n6", "n7"]);
        await site.pod("web", { node: "n1" });
        const time = new Date().toISOString().replace(/\.\d+Z/, "Z");
        const beat = { lastHeartbeatTime: time, lastTransitionTime: time };
        await site.create(bare("only-ready", [{ type: "Ready", status: "True", reason: "KubeletReady", ...beat }]));
        await site.create(bare("only-lost", [{ type: "Ready", status: "False", reason: "KubeletNotReady", ...beat }]));
        await site.create(bare("odd", [{ type: "MemoryPressure", status: "True", reason: "Odd", ...beat }]));
      },
      until: (now) =>
        now.condition("only-ready") === "Unknown" &&
        now.condition("only-lost") === "Unknown" &&
        now.condition("odd") === "Unknown" &&
        now.podReady("web") === "True",
    },
    {
      name: "every pressure",
      do: (site) =>
        site.report("n1", {
          MemoryPressure: "True",
          DiskPressure: "True",
          PIDPressure: "True",
          NetworkUnavailable: "True",
        }),
      until: (now) => now.taints("n1").length === 4,
      timing: 2,
    },
    {
      name: "ends in silence",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute") && !now.tainted("n1", "pid-pressure:NoSchedule"),
      timing: 3,
    },
    {
      name: "cordoned and opened in silence",
      do: (site) => site.cordon("n1"),
      until: (now) => now.tainted("n1", "unschedulable:NoSchedule"),
      timing: 2,
    },
    {
      name: "opened",
      do: (site) => site.cordon("n1", false),
      until: (now) => !now.tainted("n1", "unschedulable:NoSchedule"),
    },
    {
      name: "it comes back, not ready",
      do: async (site) => {
        await site.report("n1", { Ready: "False", MemoryPressure: "False" });
        await site.wake("n1");
      },
      until: (now) => now.tainted("n1", "not-ready:NoExecute") && !now.tainted("n1", "unreachable:NoExecute"),
      timing: 2.5,
    },
    {
      name: "falls silent again",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute") && !now.tainted("n1", "not-ready:NoExecute"),
      timing: 3,
    },
    {
      name: "and is well",
      do: async (site) => {
        await site.report("n1", {
          Ready: "True",
          DiskPressure: "False",
          PIDPressure: "False",
          NetworkUnavailable: "False",
        });
        await site.wake("n1");
      },
      until: (now) => ready(now, "n1") && now.podReady("web") === "True",
    },
    {
      name: "a kubelet that says Unknown itself",
      do: (site) => site.report("n2", { Ready: "Unknown" }),
      until: (now) => now.tainted("n2", "unreachable:NoSchedule"),
      hold: 5,
    },
    {
      name: "a pressure that is Unknown",
      do: (site) => site.report("n3", { DiskPressure: "Unknown" }),
      hold: 3,
    },
    { name: "n2 is well", do: (site) => site.report("n2", { Ready: "True" }), until: (now) => ready(now, "n2") },
  ],
};
