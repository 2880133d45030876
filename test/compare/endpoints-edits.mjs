// Services and their objects are edited by hand.
export default {
  title: "edits of services, of Endpoints and of slices",
  steps: [
    {
      name: "a service with two pods",
      do: async (site) => {
        await site.nodes(["n1", "n2"], { zone: "east" });
        await site.pods(["a", "b"], { node: "n1", labels: { app: "web", tier: "front" } });
        await site.wait((now) => now.podReady("a") === "True" && now.podReady("b") === "True");
        await site.service("web", { selector: { app: "web" }, labels: { team: "shop", track: "stable" } });
      },
      until: (now) => now.serving("web", 2),
    },
    {
      name: "other labels",
      do: (site) => site.label("service/web", { team: "store", track: null, extra: "yes" }),
      until: (now) =>
        now.endpoints("web").object.metadata.labels.team === "store" &&
        now.slices("web")[0].metadata.labels.extra === "yes",
    },
    {
      name: "another port",
      do: (site) => site.patch("service/web", { spec: { ports: [{ name: "web", port: 8443, targetPort: 8443 }] } }),
      until: (now) => now.slices("web")[0].ports[0].port === 8443,
    },
    {
      name: "a second port",
      do: (site) =>
        site.patch("service/web", {
          spec: {
            ports: [
              { name: "web", port: 8443, targetPort: 8443 },
              { name: "more", port: 9000, targetPort: 9000, protocol: "UDP" },
            ],
          },
        }),
      until: (now) => now.slices("web")[0].ports.length === 2,
    },
    {
      name: "another selector: no pod, then all of them again",
      do: (site) => site.patch("service/web", { spec: { selector: { app: "web", tier: "back" } } }),
      until: (now) => now.serving("web", 0),
    },
    {
      name: "a pod gets the label that is asked for",
      do: (site) => site.label("pod/a", { tier: "back" }),
      until: (now) => now.serving("web", 1),
    },
    {
      name: "the Endpoints are deleted by hand",
      do: async (site) => {
        await site.delete("endpoints/web");
      },
      hold: 2,
      until: (now) => now.serving("web", 1),
    },
    {
      name: "the slice is deleted by hand",
      do: async (site, now) => {
        for (const { metadata } of now.slices("web")) await site.delete(`endpointslice/${metadata.name}`);
      },
      hold: 3,
      until: (now) => now.serving("web", 1),
    },
    {
      name: "its endpoints are edited by hand",
      do: async (site, now) => {
        const [slice] = now.slices("web");
        await site.patch(`endpointslice/${slice.metadata.name}`, { endpoints: [] });
      },
      hold: 3,
      until: (now) => now.serving("web", 1),
    },
    {
      name: "it becomes a mere name",
      do: (site) =>
        site.patch("service/web", {
          spec: {
            type: "ExternalName",
            externalName: "example.com",
            clusterIP: null,
            clusterIPs: null,
            ports: null,
            ipFamilies: null,
            ipFamilyPolicy: null,
            internalTrafficPolicy: null,
          },
        }),
      hold: 2,
    },
    { name: "a pod comes meanwhile", do: (site) => site.label("pod/b", { tier: "back" }), hold: 2 },
    {
      name: "and a service again",
      do: (site) =>
        site.patch("service/web", {
          spec: { type: "ClusterIP", externalName: null, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
        }),
      until: (now) => now.endpoints("web")?.ready === 2,
    },
    {
      name: "it wants all pods",
      do: async (site) => {
        await site.patch("service/web", { spec: { publishNotReadyAddresses: true } });
        await site.says("pod/b", { ready: false });
      },
      until: (now) =>
        now.sliced("web").some((one) => one.conditions.serving === false && one.conditions.ready) &&
        now.endpoints("web").ready === 2,
    },
    { name: "it loses its selector", do: (site) => site.patch("service/web", { spec: { selector: null } }), hold: 2 },
    {
      name: "its pods go",
      do: async (site) => {
        await site.delete("pod/a");
        await site.delete("pod/b");
      },
      until: (now) => now.gone("a", "b"),
    },
    { name: "it goes", do: (site) => site.delete("service/web"), until: (now) => now.endpoints("web") === undefined },
  ],
};
