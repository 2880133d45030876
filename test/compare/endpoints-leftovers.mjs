// Leftovers of changes made while no controller runs.
const leader = { "control-plane.alpha.kubernetes.io/leader": "{}" };
const made = (name, annotations) => ({
  kind: "Endpoints",
  apiVersion: "v1",
  metadata: { name, namespace: "default", annotations },
});

export default {
  title: "leftovers at the start",
  steps: [
    {
      name: "two services",
      do: async (site) => {
        await site.node("n1");
        await site.pod("web", { node: "n1", labels: { app: "web" } });
        await site.wait((now) => now.podReady("web") === "True");
        await site.service("kept", { selector: { app: "web" } });
        await site.service("lost", { selector: { app: "web" } });
      },
      until: (now) => now.serving("kept", 1) && now.serving("lost", 1),
    },
    {
      name: "Endpoints without a service are left alone",
      do: async (site) => {
        await site.create(made("orphan"));
        await site.create(made("elect", leader));
      },
      hold: 2,
    },
    {
      name: "while no controller runs",
      do: async (site) => {
        await site.stopControllers();
        await site.delete("service/lost");
        await site.says("pod/web", { ready: false });
        await site.startControllers();
      },
      until: (now) =>
        now.endpoints("lost") === undefined && now.endpoints("orphan") === undefined && now.serving("kept", 0),
      within: 60,
    },
    {
      name: "the other one goes",
      do: (site) => site.delete("service/kept"),
      until: (now) => now.endpoints("kept") === undefined,
    },
  ],
};
