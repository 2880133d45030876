// The controllers restart while boards wait for their turn, and while pods' windows run.
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const within = (key, tolerationSeconds) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds });
const unreachable = "node.kubernetes.io/unreachable";
async function restart(site) {
  await site.stopControllers();
  await site.startControllers();
}

export default {
  title: "restarts in the middle of evictions",
  options: { "node-eviction-rate": "0.12" },
  steps: [
    {
      name: "boards and pods",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5", "n6", "n7"], { zone: "a" });
        await site.pod("slow", { node: "n1", tolerations: [within(unreachable, 12), within("not-ready", 12)] });
        await site.pod("by-hand", { node: "n6", tolerations: [within("a", 9)] });
        await site.pod("spared", { node: "n7", tolerations: [within("a", 9)] });
        await site.pod("stays", { node: "n2" });
      },
      until: (now) =>
        ready(now, "n1", "n7") && ["slow", "by-hand", "spared", "stays"].every((pod) => now.podReady(pod) === "True"),
    },
    {
      name: "n1 is tainted, and n2 waits",
      do: async (site) => {
        site.silence("n1");
        await site.wait((now) => lost(now, "n1"));
        site.silence("n2");
      },
      until: (now) => now.condition("n2") === "Unknown" && now.podReady("stays") === "False",
      quiet: 0.3,
    },
    {
      name: "restart: both are tainted in the end, and the pod of n1 is asked to leave",
      do: restart,
      until: (now) => lost(now, "n1", "n2") && now.leaving("slow"),
      within: 45,
      hold: 24,
    },
    {
      name: "restart during the time of two pods; the one's taint is taken away meanwhile",
      do: async (site) => {
        const taint = { key: "a", effect: "NoExecute" };
        await site.taint("n6", taint);
        await site.taint("n7", taint);
        await pause(3);
        await site.stopControllers();
        await site.untaint("n7", "a");
        await site.startControllers();
      },
      until: (now) => now.gone("by-hand"),
      hold: 16,
    },
    {
      name: "n2 comes back while they are away, and n3 falls silent",
      do: async (site) => {
        await site.stopControllers();
        await site.wake("n2");
        site.silence("n3");
        await site.startControllers();
      },
      until: (now) => ready(now, "n2") && lost(now, "n3") && now.podReady("stays") === "True",
      hold: 18,
    },
    {
      name: "all are back",
      do: (site) => site.wake("n1", "n3"),
      until: (now) => ready(now, "n1", "n2", "n3") && now.gone("slow"),
      timing: 3,
    },
  ],
};
