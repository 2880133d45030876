// An eviction rate of 0: a zone has only the token that it began with.
export default {
  title: "a rate of zero",
  options: { "node-eviction-rate": "0" },
  steps: [
    {
      name: "five boards",
      do: (site) => site.nodes(["n1", "n2", "n3", "n4", "n5"], { zone: "a" }),
      until: (now) => now.condition("n5") === "True",
    },
    { name: "n1", do: (site) => site.silence("n1"), until: (now) => now.condition("n1") === "Unknown", hold: 10 },
    { name: "n2", do: (site) => site.silence("n2"), until: (now) => now.condition("n2") === "Unknown", hold: 10 },
    {
      name: "back",
      do: (site) => site.wake("n1", "n2"),
      until: (now) => !now.taints("n1").length && !now.taints("n2").length,
    },
  ],
};
