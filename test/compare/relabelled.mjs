// A board moves to another zone while it is silent: before its taint, and after it.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);

export default {
  title: "boards change their zone while they are silent",
  options: { "node-eviction-rate": "0.15" },
  steps: [
    {
      name: "two zones",
      do: async (site) => {
        await site.nodes(["a1", "a2", "a3", "a4", "a5"], { zone: "a" });
        await site.nodes(["b1", "b2"], { zone: "b" });
      },
      until: (now) => ready(now, "a1", "a2", "a3", "a4", "a5", "b1", "b2"),
    },
    {
      name: "a1 is tainted, which takes the token of its zone",
      do: (site) => site.silence("a1"),
      until: (now) => now.tainted("a1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "a2 waits for its turn",
      do: (site) => site.silence("a2"),
      until: (now) => now.condition("a2") === "Unknown",
      quiet: 0.2,
    },
    {
      name: "it moves to zone b and is tainted there",
      do: (site) => site.label("node/a2", { "topology.kubernetes.io/zone": "b" }),
      until: (now) => now.tainted("a2", "unreachable:NoExecute"),
    },
    {
      name: "a1 moves too: its taint stays",
      do: (site) => site.label("node/a1", { "topology.kubernetes.io/zone": "c" }),
      hold: 8,
    },
    {
      name: "a1 loses its zone",
      do: (site) => site.label("node/a1", { "topology.kubernetes.io/zone": null }),
      hold: 4,
    },
    {
      name: "both are back",
      do: (site) => site.wake("a1", "a2"),
      until: (now) => ready(now, "a1", "a2"),
    },
  ],
};
