// Everything at once: the state after the dust has settled.
const names = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => `web-${from + at}`);
const web = { node: "n1", labels: { app: "web" } };

export default {
  title: "services and pods that come, change and go in a rush",
  steps: [
    {
      name: "the services first, then the pods",
      do: async (site) => {
        await site.node("n1", { zone: "east" });
        await site.service("web", { selector: { app: "web" } });
        await site.service("all", { selector: { app: "web" }, publishNotReadyAddresses: true, clusterIP: "None" });
        await site.pods(names(1, 40), web);
      },
      until: (now) => now.serving("web", 40) && now.serving("all", 40),
    },
    {
      name: "half of them go, others come, some flip, the service changes its port",
      do: async (site) => {
        await Promise.all([
          ...names(1, 20).map((name) => site.delete(`pod/${name}`)),
          site.pods(names(41, 50), web),
          ...names(21, 30).map((name) => site.says(`pod/${name}`, { ready: false })),
          site.patch("service/web", { spec: { ports: [{ name: "http", port: 80, targetPort: 9090 }] } }),
        ]);
      },
      until: (now) => now.serving("web", 20) && now.gone(...names(1, 20)),
    },
    {
      name: "labels there and back, readiness there and back",
      do: async (site) => {
        for (const name of names(31, 36)) await site.label(`pod/${name}`, { app: "none" });
        for (const name of names(31, 33)) await site.label(`pod/${name}`, { app: "web" });
        for (const name of names(21, 30)) await site.says(`pod/${name}`, { ready: true });
        for (const name of names(21, 25)) await site.says(`pod/${name}`, { ready: false });
      },
      until: (now) => now.serving("web", 22),
    },
    {
      name: "the service is deleted and made anew",
      do: async (site) => {
        await site.delete("service/web");
        await site.service("web", { selector: { app: "web" }, labels: { again: "yes" } });
      },
      until: (now) => now.endpoints("web")?.ready === 22 && now.endpoints("web").object.metadata.labels.again === "yes",
      hold: 3,
    },
    {
      name: "and by hand while no leader is active",
      do: async (site) => {
        await site.stopControllers();
        for (const name of names(41, 50)) await site.delete(`pod/${name}`);
        await site.patch("service/all", { spec: { publishNotReadyAddresses: false } });
        await site.startControllers();
      },
      until: (now) => now.gone(...names(41, 50)) && now.endpoints("all")?.notReady === 5,
      within: 60,
    },
  ],
};
