// Many boards at once, and boards that come and go.
const names = Array.from({ length: 30 }, (_, index) => `n${String(index).padStart(2, "0")}`);

export default {
  title: "a set on thirty boards",
  steps: [
    {
      name: "all of them, in one step",
      do: async (site) => {
        await site.nodes(names);
        await site.daemonSet("agent", { updateStrategy: { rollingUpdate: { maxUnavailable: "100%" } } });
      },
      within: 40,
      until: (now) => now.rolled("agent", 30),
    },
    {
      name: "a new template, all at once",
      do: (site) => site.roll("agent", "example/agent:2"),
      within: 40,
      until: (now) => now.rolled("agent", 30),
    },
    {
      name: "ten boards are closed: their pods go",
      do: async (site) => {
        for (const name of names.slice(0, 10)) await site.taint(name, { key: "closed", effect: "NoExecute" });
      },
      within: 40,
      until: (now) => now.podsOf("agent").length === 20 && now.daemon("agent").desiredNumberScheduled === 20,
    },
    {
      name: "and opened again, while the template changes",
      do: async (site) => {
        await site.roll("agent", "example/agent:3");
        for (const name of names.slice(0, 10)) await site.untaint(name, "closed");
      },
      within: 40,
      until: (now) => now.rolled("agent", 30),
    },
    {
      name: "every pod is deleted by hand",
      do: async (site) => {
        for (const pod of await site.names("Pod")) await site.delete(`pod/${pod}`);
      },
      within: 40,
      until: (now) => now.rolled("agent", 30),
    },
    {
      name: "a pod that is evicted, one that ends, one that is never ready",
      do: async (site) => {
        await site.says("pod/agent@n00", { phase: "Failed", reason: "Evicted", message: "no room" });
        await site.says("pod/agent@n01", { phase: "Succeeded" });
        await site.says("pod/agent@n02", { ready: false });
      },
      until: (now) => now.podsOf("agent").length === 30 && now.daemon("agent").numberReady === 29,
    },
  ],
};
