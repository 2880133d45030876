// Three independent zones, one of them without a name.
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);
export default {
  title: "three zones, one without a name",
  options: { "node-eviction-rate": "0.2" },
  steps: [
    {
      name: "boards",
      do: async (site) => {
        await site.nodes(["a1", "a2", "a3", "a4"], { zone: "a" });
        await site.nodes(["b1", "b2"], { zone: "b", region: "r" });
        await site.nodes(["u1", "u2"]);
      },
      until: (now) => ready(now, "a1", "b2", "u2"),
      hold: 4,
    },
    {
      name: "one in each",
      do: (site) => site.silence("a1", "b1", "u1"),
      until: (now) => lost(now, "a1", "b1", "u1"),
      timing: 3,
    },
    {
      name: "zone b whole, zone a in part",
      do: (site) => site.silence("b2", "a2", "a3"),
      until: (now) => lost(now, "b2") && now.condition("a3") === "Unknown",
      hold: 14,
      within: 40,
    },
    { name: "the nameless zone too", do: (site) => site.silence("u2"), until: (now) => lost(now, "u2"), hold: 8 },
    {
      name: "a4 is the last: no further eviction",
      do: (site) => site.silence("a4"),
      until: (now) => now.condition("a4") === "Unknown" && !now.tainted("u1", "unreachable:NoExecute"),
      hold: 8,
    },
    {
      name: "u2 is back",
      do: (site) => site.wake("u2"),
      until: (now) => lost(now, "a1", "a2", "a3", "a4", "b1", "b2", "u1"),
      within: 60,
    },
    {
      name: "all are back",
      do: (site) => site.wake("a1", "a2", "a3", "a4", "b1", "b2", "u1"),
      until: (now) => ready(now, "a1", "a2", "a3", "a4", "b1", "b2", "u1", "u2"),
    },
  ],
};
