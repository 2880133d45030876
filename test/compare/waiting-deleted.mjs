// Boards that wait for their turn are deleted: a turn is spent on each of them.
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));

export default {
  title: "a board is deleted while it waits for its turn",
  options: { "node-eviction-rate": "0.05" },
  steps: [
    {
      name: "boards",
      do: (site) => site.nodes(["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]),
      until: (now) => now.condition("n8") === "True",
    },
    {
      name: "the first one takes the only token there is",
      do: (site) => site.silence("n1"),
      until: (now) => lost(now, "n1"),
      timing: 4,
    },
    {
      name: "two wait, and one of them is deleted: the other one waits for two tokens",
      do: async (site) => {
        site.silence("n2", "n3");
        await site.wait((now) => now.condition("n2") === "Unknown" && now.condition("n3") === "Unknown");
        await site.removeNode("n2");
      },
      until: (now) => lost(now, "n3"),
      within: 70,
      timing: 5,
    },
  ],
};
