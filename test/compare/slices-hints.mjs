// Services that prefer their traffic to stay close.
const near = (trafficDistribution) => (site) => site.patch("service/web", { spec: { trafficDistribution } });
const hints = (now) => now.sliced("web").map(({ hints }) => hints);

export default {
  title: "hints of endpoints",
  steps: [
    {
      name: "two zones and a board without",
      do: async (site) => {
        await site.node("n1", { zone: "east" });
        await site.node("n2", { zone: "west" });
        await site.node("n3");
        for (const at of [1, 2, 3]) await site.pod(`web-${at}`, { node: `n${at}`, labels: { app: "web" } });
        await site.pod("web-4", { node: "n1", labels: { app: "web" }, play: { ready: "false" } });
        await site.wait(
          (now) =>
            ["web-1", "web-2", "web-3"].every((name) => now.podReady(name) === "True") &&
            now.podReady("web-4") === "False",
        );
        await site.service("web", { selector: { app: "web" }, trafficDistribution: "PreferClose" });
      },
      until: (now) => hints(now).filter(Boolean).length === 2,
    },
    {
      name: "same node",
      do: near("PreferSameNode"),
      until: (now) => hints(now).filter((one) => one?.forNodes).length === 3,
    },
    {
      name: "the fourth becomes ready",
      do: (site) => site.says("pod/web-4", { ready: true }),
      until: (now) => hints(now).filter((one) => one?.forNodes).length === 4,
    },
    {
      name: "and unready",
      do: (site) => site.says("pod/web-4", { ready: false }),
      until: (now) => now.serving("web", 3),
    },
    {
      name: "same zone",
      do: near("PreferSameZone"),
      until: (now) =>
        hints(now).filter((one) => one?.forNodes).length === 0 &&
        hints(now).filter((one) => one?.forZones).length === 2,
    },
    {
      name: "another label of the service",
      do: (site) => site.label("service/web", { a: "b" }),
      until: (now) => now.slices("web")[0].metadata.labels.a === "b",
    },
    { name: "no wish any more", do: near(null), until: (now) => hints(now).every((one) => one === undefined) },
    {
      name: "the label of a zone changes: no sync follows",
      do: (site) => site.label("node/n1", { "topology.kubernetes.io/zone": "north" }),
      hold: 3,
    },
    {
      name: "until something else changes",
      do: (site) => site.says("pod/web-4", { ready: true }),
      until: (now) => now.serving("web", 4) && now.sliced("web").some(({ zone }) => zone === "north"),
    },
  ],
};
