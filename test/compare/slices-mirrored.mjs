// Endpoints written by hand. A slice that is rewritten in place loses its generateName on both sides, and its name is
// then random, so such steps cannot be compared.
const made = (name, subsets, more = {}) => ({
  kind: "Endpoints",
  apiVersion: "v1",
  metadata: { name, namespace: "default", ...more },
  subsets,
});
const port = { name: "http", port: 8080 };

export default {
  title: "Endpoints made by hand become slices",
  options: { controllers: "endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller" },
  steps: [
    {
      name: "two subsets, both families, ready and not",
      do: async (site) => {
        await site.service("db", {});
        await site.create(
          made(
            "db",
            [
              {
                addresses: [{ ip: "192.0.2.1", hostname: "a" }, { ip: "2001:db8::1" }],
                notReadyAddresses: [{ ip: "192.0.2.2", nodeName: "n1" }],
                ports: [port],
              },
              { addresses: [{ ip: "192.0.2.3" }], ports: [{ name: "admin", port: 9090, protocol: "UDP" }] },
            ],
            {
              labels: { team: "data" },
              annotations: {
                "example.com/note": "kept",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z",
              },
            },
          ),
        );
      },
      until: (now) => now.slices("db").length === 3,
    },
    {
      name: "another port",
      do: (site) =>
        site.patch("endpoints/db", {
          subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ name: "http", port: 8081 }] }],
        }),
      until: (now) => now.slices("db")[0].ports[0].port === 8081,
    },
    {
      name: "no addresses",
      do: (site) => site.patch("endpoints/db", { subsets: [] }),
      until: (now) => now.slices("db").length === 0,
    },
    {
      name: "some again",
      do: (site) =>
        site.patch("endpoints/db", { subsets: [{ notReadyAddresses: [{ ip: "192.0.2.1" }], ports: [port] }] }),
      until: (now) => now.slices("db").length === 1,
    },
    {
      name: "it is not to be mirrored",
      do: (site) => site.label("endpoints/db", { "endpointslice.kubernetes.io/skip-mirror": "true" }),
      until: (now) => now.slices("db").length === 0,
    },
    {
      name: "it is",
      do: (site) => site.label("endpoints/db", { "endpointslice.kubernetes.io/skip-mirror": null }),
      until: (now) => now.slices("db").length === 1,
    },
    {
      name: "the service gets a selector",
      do: (site) => site.patch("service/db", { spec: { selector: { app: "db" } } }),
      until: (now) =>
        now.slices("db").length === 1 &&
        now.slices("db")[0].metadata.labels["endpointslice.kubernetes.io/managed-by"] ===
          "endpointslice-controller.k8s.io",
    },
    { name: "and loses it", do: (site) => site.patch("service/db", { spec: { selector: null } }), hold: 2 },
    {
      name: "Endpoints without a service",
      do: (site) => site.create(made("alone", [{ addresses: [{ ip: "192.0.2.5" }] }])),
      hold: 2,
    },
    {
      name: "whose service comes",
      do: (site) => site.service("alone", {}),
      until: (now) => now.slices("alone").length === 1,
    },
    {
      name: "and goes: the Endpoints too",
      do: (site) => site.delete("service/alone"),
      until: (now) => now.slices("alone").length === 0 && now.endpoints("alone") === undefined,
    },
  ],
};
