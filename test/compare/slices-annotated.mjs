// A changed label of a slice is reverted a second later; an annotation stays until something else enqueues its service.
const labels = { app: "web" };
const each = async (site, prefix, change) => {
  for (const name of await site.names("EndpointSlice")) {
    if (name.startsWith(prefix)) await site.patch(`endpointslice/${name}`, { metadata: change });
  }
};

export default {
  title: "labels and annotations of slices are edited by hand",
  options: { controllers: "endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller" },
  steps: [
    {
      name: "a service with a pod, and one with Endpoints made by hand",
      do: async (site) => {
        await site.node("n1", { zone: "a" });
        await site.pod("a", { node: "n1", labels });
        await site.wait((now) => now.podReady("a") === "True");
        await site.service("web", { selector: labels });
        await site.service("db", {});
        await site.create({
          kind: "Endpoints",
          apiVersion: "v1",
          metadata: { name: "db", namespace: "default" },
          subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ name: "http", port: 1 }] }],
        });
      },
      hold: 3,
    },
    { name: "an annotation", do: (site) => each(site, "web", { annotations: { note: "1" } }), hold: 4 },
    { name: "and a label", do: (site) => each(site, "web", { labels: { extra: "1" } }), hold: 4 },
    {
      name: "both at once",
      do: (site) => each(site, "web", { labels: { extra: "2" }, annotations: { n: "2" } }),
      hold: 4,
    },
    {
      name: "an annotation of a mirrored one",
      do: (site) => each(site, "db", { annotations: { note: "1" } }),
      hold: 4,
    },
    { name: "something wakes its service", do: (site) => site.annotate("service/web", { why: "x" }), hold: 3 },
  ],
};
