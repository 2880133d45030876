// Conditions and cordons come and go, in every combination: network, custom conditions, taints at registration, manual
// changes in between.
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const ours = (key, effect, more = {}) => ({ key: `node.kubernetes.io/${key}`, effect, ...more });
const taints = (now, node) => now.taints(node).join();

export default {
  title: "conditions come and go",
  steps: [
    {
      name: "boards without a network yet, one registered with taints, one cordoned",
      do: async (site) => {
        await site.node("n1", { conditions: { NetworkUnavailable: "True" } });
        await site.node("n2", {
          taints: [
            ours("not-ready", "NoExecute"),
            ours("not-ready", "NoSchedule"),
            { key: "example.dev/setup", effect: "NoExecute" },
            { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" },
          ],
        });
        await site.node("n3", { unschedulable: true });
        await site.node("n4", { conditions: { KernelDeadlock: "True", ReadonlyFilesystem: "False" } });
      },
      until: (now) =>
        taints(now, "n1") === "network-unavailable:NoSchedule" &&
        taints(now, "n3") === "unschedulable:NoSchedule" &&
        !now.tainted("n2", "not-ready:NoExecute") &&
        !now.tainted("n2", "not-ready:NoSchedule"),
      timing: 3,
    },
    {
      name: "the network comes, a custom condition goes, the cordon is lifted, and memory runs out",
      do: async (site) => {
        await site.report("n1", { NetworkUnavailable: "False", MemoryPressure: "True" });
        await site.report("n4", { KernelDeadlock: "False" });
        await site.cordon("n3", false);
        await site.cordon("n4");
      },
      until: (now) =>
        taints(now, "n1") === "memory-pressure:NoSchedule" &&
        !now.taints("n3").length &&
        taints(now, "n4") === "unschedulable:NoSchedule",
      timing: 2,
    },
    {
      name: "quick changes: the last one counts",
      do: async (site) => {
        for (const status of ["False", "True", "False", "True", "False"]) {
          await site.report("n1", { MemoryPressure: status, PIDPressure: status === "True" ? "False" : "True" });
          await pause(0.15);
        }
        for (const on of [true, false, true, false]) await site.cordon("n3", on);
      },
      until: (now) => taints(now, "n1") === "pid-pressure:NoSchedule" && !now.taints("n3").length,
      timing: 2,
    },
    {
      name: "hands: a pressure taint without its condition goes, a NoExecute of that name stays",
      do: async (site) => {
        await site.taint(
          "n3",
          ours("disk-pressure", "NoSchedule", { value: "mine" }),
          ours("disk-pressure", "NoExecute"),
        );
        await site.untaint("n4", "node.kubernetes.io/unschedulable");
      },
      until: (now) =>
        taints(now, "n3") === "disk-pressure:NoExecute" && taints(now, "n4") === "unschedulable:NoSchedule",
      timing: 2,
    },
    {
      name: "no network in silence: that taint stays, the pressure goes",
      do: async (site) => {
        await site.report("n1", { NetworkUnavailable: "True", DiskPressure: "True" });
        await site.wait((now) => now.tainted("n1", "disk-pressure:NoSchedule"));
        site.silence("n1");
      },
      until: (now) =>
        now.tainted("n1", "unreachable:NoExecute") &&
        now.tainted("n1", "network-unavailable:NoSchedule") &&
        !now.tainted("n1", "disk-pressure:NoSchedule"),
      timing: 3,
    },
    {
      name: "a cordoned board is lost and comes back: it stays cordoned",
      do: async (site) => {
        site.silence("n4");
        await site.wait((now) => now.tainted("n4", "unreachable:NoExecute"));
        await site.wake("n4");
      },
      until: (now) => now.condition("n4") === "True" && taints(now, "n4") === "unschedulable:NoSchedule",
      timing: 3,
    },
    {
      name: "all is well",
      do: async (site) => {
        await site.report("n1", { NetworkUnavailable: "False", DiskPressure: "False", PIDPressure: "False" });
        await site.wake("n1");
        await site.cordon("n4", false);
      },
      until: (now) => !now.taints("n1").length && !now.taints("n4").length,
      timing: 3,
    },
  ],
};
