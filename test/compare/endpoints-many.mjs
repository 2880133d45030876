// More pods than one Endpoints may list. Which of them are removed from which slice is unspecified, so none is removed.
const names = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => `web-${from + at}`);
const web = (at) => ({ node: "n1", labels: { app: "web" }, play: { ip: `10.9.${at >> 8}.${at & 255}` } });

export default {
  title: "more than a thousand addresses",
  steps: [
    {
      name: "1003 pods",
      do: async (site) => {
        await site.node("n1");
        await site.pods(names(1, 1003), (name) => web(Number(name.slice(4))));
        await site.wait((now) => names(1, 1003).every((name) => now.podReady(name) === "True"), 120);
        await site.service("web", { selector: { app: "web" } });
      },
      until: (now) => now.endpoints("web")?.ready === 1000 && now.sliced("web").length === 1003,
      within: 120,
    },
    {
      name: "four are not ready",
      do: async (site) => {
        for (const name of names(1, 4)) await site.says(`pod/${name}`, { ready: false });
      },
      until: (now) => now.endpoints("web").ready === 999 && now.endpoints("web").notReady === 1,
    },
  ],
};
