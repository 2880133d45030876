// Pods whose board has no Node, and boards that fall silent.
export default {
  title: "endpoints on boards that are gone, or silent",
  options: {
    controllers: "node-lifecycle-controller,taint-eviction-controller,endpoints-controller,endpointslice-controller",
    "node-eviction-rate": "0.001",
    "node-monitor-grace-period": "4s",
  },
  steps: [
    {
      name: "two boards",
      do: async (site) => {
        await site.node("n1", { zone: "east" });
        await site.node("n2", { zone: "east" });
        await site.node("n3", { zone: "east" });
        for (const at of [1, 2, 3])
          await site.pod(`web-${at}`, {
            node: `n${at}`,
            labels: { app: "web" },
            tolerations: [{ operator: "Exists" }],
          });
        await site.wait((now) => [1, 2, 3].every((at) => now.podReady(`web-${at}`) === "True"));
        await site.service("web", { selector: { app: "web" } });
        await site.service("all", { selector: { app: "web" }, publishNotReadyAddresses: true });
      },
      until: (now) => now.serving("web", 3) && now.serving("all", 3),
    },
    {
      name: "a board falls silent",
      do: (site) => site.silence("n1"),
      until: (now) => now.condition("n1") === "Unknown" && now.serving("web", 2),
      within: 40,
    },
    {
      name: "and comes back",
      do: (site) => site.wake("n1"),
      until: (now) => now.condition("n1") === "True" && now.serving("web", 3),
    },
    { name: "the Node of another goes", do: (site) => site.removeNode("n2"), hold: 2 },
    {
      name: "and its pod becomes unready",
      do: (site) =>
        site.patchStatus("pod/web-2", { status: { conditions: [{ type: "Ready", status: "False" }] } }, "strategic"),
      until: (now) => now.endpoints("web").ready === 2,
      hold: 2,
    },
    {
      name: "it comes back",
      do: (site) => site.node("n2", { zone: "west" }),
      until: (now) => now.sliced("web").length === 3,
      within: 60,
    },
  ],
};
