// How endpoints are packed into slices, where this does not depend on their order.
const names = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => `web-${from + at}`);
const web = { node: "n1", labels: { app: "web" } };
const sizes = (now) =>
  now
    .slices("web")
    .map(({ endpoints }) => endpoints?.length ?? 0)
    .sort((a, b) => b - a)
    .join("+");

export default {
  title: "slices that fill up and empty",
  options: { "max-endpoints-per-slice": "5" },
  steps: [
    {
      name: "twelve pods in slices of five",
      do: async (site) => {
        await site.node("n1", { zone: "east" });
        await site.pods(names(1, 12), web);
        await site.wait((now) => names(1, 12).every((name) => now.podReady(name) === "True"));
        await site.service("web", { selector: { app: "web" } });
      },
      until: (now) => sizes(now) === "5+5+2",
    },
    {
      name: "three more fit",
      do: async (site) => {
        await site.pods(names(13, 15), web);
      },
      until: (now) => now.serving("web", 15),
    },
    {
      name: "another port: the slices stay",
      do: (site) => site.patch("service/web", { spec: { ports: [{ name: "http", port: 80, targetPort: 9090 }] } }),
      until: (now) => now.slices("web").every(({ ports }) => ports[0].port === 9090),
    },
    {
      name: "all but one become unready",
      do: async (site) => {
        for (const name of names(1, 14)) await site.says(`pod/${name}`, { ready: false });
      },
      until: (now) => now.serving("web", 1),
    },
    {
      name: "all go",
      do: async (site) => {
        for (const name of names(1, 15)) await site.delete(`pod/${name}`);
      },
      until: (now) => now.gone(...names(1, 15)) && sizes(now) === "0",
    },
    { name: "some come back", do: (site) => site.pods(names(1, 5), web), until: (now) => now.serving("web", 5) },
  ],
};
