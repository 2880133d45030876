// Boards are excluded from the disruption count, and counted again, while the site is in trouble.
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));
const label = "node.kubernetes.io/exclude-disruption";

export default {
  title: "exclusion is switched on and off in an outage",
  options: { "node-eviction-rate": "0.1" },
  steps: [
    {
      name: "boards; the only one of zone b is left out",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4"], { zone: "a" });
        await site.node("m1", { zone: "b", labels: { [label]: "" } });
      },
      until: (now) => now.condition("m1") === "True",
    },
    { name: "n1 is lost", do: (site) => site.silence("n1"), until: (now) => lost(now, "n1"), timing: 3 },
    {
      name: "two more: the zone is partly disrupted",
      do: (site) => site.silence("n2", "n3"),
      until: (now) => now.condition("n2") === "Unknown" && now.condition("n3") === "Unknown",
      hold: 12,
    },
    {
      name: "two of them are left out: it is not any more",
      do: async (site) => {
        await site.label("node/n1", { [label]: "" });
        await site.label("node/n2", { [label]: "" });
      },
      until: (now) => lost(now, "n2", "n3"),
      within: 45,
      timing: 4,
    },
    {
      name: "the last one that counts is lost: the site is dark",
      do: (site) => site.silence("n4"),
      until: (now) => now.condition("n4") === "Unknown",
      hold: 9,
    },
    { name: "the one of zone b counts", do: (site) => site.label("node/m1", { [label]: null }), hold: 12 },
    {
      name: "all are back",
      do: (site) => site.wake("n1", "n2", "n3", "n4"),
      until: (now) => ["n1", "n2", "n3", "n4"].every((node) => !now.taints(node).length),
      hold: 2,
    },
  ],
};
