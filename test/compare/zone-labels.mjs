// Which labels make a zone: the old ones take precedence over the stable ones even if they are empty; a region alone is
// a zone too.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));

export default {
  title: "zones by old labels, by region alone, and none",
  options: { "node-eviction-rate": "2" },
  steps: [
    {
      name: "boards of four zones",
      do: async (site) => {
        await site.nodes(["a1", "a2"], { zone: "a" });
        const hidden = { "failure-domain.beta.kubernetes.io/zone": "" };
        await site.nodes(["h1", "h2", "h3"], { zone: "a", labels: hidden });
        await site.nodes(["r1", "r2"], { region: "north" });
        await site.node("b1", { zone: "a", labels: { "failure-domain.beta.kubernetes.io/zone": "old" } });
      },
      until: (now) => ready(now, "a1", "a2", "h1", "h2", "h3", "r1", "r2", "b1"),
    },
    {
      name: "those whose zone is hidden fall silent: a zone of their own, so they are tainted",
      do: (site) => site.silence("h1", "h2", "h3"),
      until: (now) => lost(now, "h1", "h2", "h3"),
      timing: 3.5,
    },
    {
      name: "the region without a zone",
      do: (site) => site.silence("r1", "r2"),
      until: (now) => lost(now, "r1", "r2"),
      timing: 3.5,
    },
    {
      name: "the board of the old zone",
      do: (site) => site.silence("b1"),
      until: (now) => lost(now, "b1"),
      timing: 3,
    },
    {
      name: "all are back",
      do: (site) => site.wake("h1", "h2", "h3", "r1", "r2", "b1"),
      until: (now) => ready(now, "h1", "h2", "h3", "r1", "r2", "b1"),
    },
  ],
};
