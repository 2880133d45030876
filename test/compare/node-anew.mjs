// A lost board is deleted and joins again under its name, with its pods still there.
export default {
  title: "a lost board joins anew",
  steps: [
    {
      name: "boards",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.pod("web", { node: "n1" });
        await site.pod("slow", {
          node: "n2",
          tolerations: [{ key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 8 }],
        });
      },
      until: (now) => now.podReady("web") === "True" && now.podReady("slow") === "True",
    },
    {
      name: "n1 is lost",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "deleted and back, silent, with its last status ready",
      do: async (site) => {
        await site.removeNode("n1");
        await site.node("n1");
        site.silence("n1");
      },
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "deleted and back, well",
      do: async (site) => {
        await site.removeNode("n1");
        await site.node("n1");
        await site.wake("n1");
      },
      until: (now) => !now.taints("n1").length && now.podReady("web") === "True",
      hold: 4,
    },
    {
      name: "n2 is tainted by hand and deleted while the time of its pod runs: the pod goes",
      do: async (site) => {
        await site.taint("n2", { key: "a", effect: "NoExecute" });
        await new Promise((r) => setTimeout(r, 2000));
        await site.removeNode("n2");
      },
      until: (now) => now.leaving("slow") || now.gone("slow"),
      hold: 4,
    },
  ],
};
