// A service whose endpoints are to be shared among the zones, by the annotation that trafficDistribution has replaced.
const hints = (now) => now.sliced("web").map(({ hints }) => hints);
const all = (now, count) => hints(now).filter((one) => one?.forZones).length === count && hints(now).length === count;
const none = (now) => hints(now).every((one) => one === undefined);

export default {
  title: "endpoints that are shared among zones",
  options: { controllers: "endpoints-controller,endpointslice-controller" },
  steps: [
    {
      name: "two zones, two endpoints in each",
      do: async (site) => {
        await site.node("n1", { zone: "east" });
        await site.node("n2", { zone: "west" });
        for (const at of [1, 2, 3, 4])
          await site.pod(`web-${at}`, { node: `n${1 + (at % 2)}`, labels: { app: "web" } });
        await site.wait((now) => [1, 2, 3, 4].every((at) => now.podReady(`web-${at}`) === "True"));
        await site.service("web", {
          selector: { app: "web" },
          annotations: { "service.kubernetes.io/topology-mode": "Auto" },
          trafficDistribution: "PreferSameNode",
        });
      },
      until: (now) => all(now, 4),
    },
    {
      name: "one of three cannot be shared well",
      do: (site) => site.delete("pod/web-1"),
      until: (now) => now.gone("web-1") && none(now),
    },
    {
      name: "four again",
      do: (site) => site.pod("web-5", { node: "n2", labels: { app: "web" } }),
      until: (now) => all(now, 4),
    },
    {
      name: "a zone is not ready any more",
      do: (site) => site.report("n2", { Ready: "False" }),
      until: (now) => none(now),
    },
    {
      name: "a board without a zone joins: no sync follows",
      do: async (site) => {
        await site.report("n2", { Ready: "True" });
        await site.node("n3");
      },
      hold: 3,
    },
    {
      name: "the annotation goes: the field counts",
      do: (site) => site.annotate("service/web", { "service.kubernetes.io/topology-mode": null }),
      until: (now) => hints(now).filter((one) => one?.forNodes).length === 4,
    },
  ],
};
