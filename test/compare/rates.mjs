// One board after the other falls silent, at a low rate, in two zones at once.
export default {
  title: "boards are tainted at the rate of their zone",
  options: { "node-eviction-rate": "0.25" },
  steps: [
    {
      name: "two zones",
      do: async (site) => {
        await site.nodes(["a1", "a2", "a3", "a4", "a5"], { zone: "a" });
        await site.nodes(["b1", "b2", "b3"], { zone: "b" });
      },
      until: (now) => now.condition("b3") === "True",
      hold: 5,
    },
    {
      name: "one in each",
      do: (site) => site.silence("a1", "b1"),
      until: (now) => now.tainted("a1", "unreachable:NoExecute") && now.tainted("b1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "another two seconds later",
      do: (site) => site.silence("a2"),
      until: (now) => now.tainted("a2", "unreachable:NoExecute"),
      timing: 4,
    },
    {
      name: "and both back",
      do: (site) => site.wake("a1", "a2", "b1"),
      until: (now) => ["a1", "a2", "b1"].every((node) => !now.taints(node).length),
    },
    {
      name: "a short silence is none",
      do: async (site) => {
        site.silence("a1");
        await new Promise((done) => setTimeout(done, 3000));
        await site.wake("a1");
      },
      hold: 6,
    },
  ],
};
