// Endpoints that a controller wrote are mirrored once their service has no selector, and so is a copy of such Endpoints.
const addresses = (ip, port) => [{ addresses: [{ ip }], ports: [{ name: "http", port, protocol: "TCP" }] }];

export default {
  title: "Endpoints of a service that lost its selector are edited, deleted and applied again",
  options: { controllers: "endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller" },
  steps: [
    {
      name: "a service with a pod",
      do: async (site) => {
        await site.node("n1");
        await site.pod("a", { node: "n1", labels: { app: "web" } });
        await site.wait((now) => now.podReady("a") === "True");
        await site.service("web", { selector: { app: "web" } });
      },
      hold: 3,
    },
    { name: "its selector goes", do: (site) => site.patch("service/web", { spec: { selector: null } }), hold: 3 },
    {
      name: "somebody edits the Endpoints",
      do: (site) => site.patch("endpoints/web", { subsets: addresses("192.0.2.9", 9090) }),
      hold: 3,
    },
    { name: "somebody deletes them", do: (site) => site.delete("endpoints/web"), hold: 3 },
    {
      name: "somebody applies a copy",
      do: (site) =>
        site.create({
          kind: "Endpoints",
          apiVersion: "v1",
          metadata: {
            name: "web",
            namespace: "default",
            labels: { "endpoints.kubernetes.io/managed-by": "endpoint-controller" },
          },
          subsets: addresses("192.0.2.10", 9091),
        }),
      hold: 3,
    },
  ],
};
