// Toleration windows: several taints, several tolerations, a taint that is removed in time, one that is swapped.
const tolerates = (key, tolerationSeconds) => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
});
const taint = (key) => ({ key, value: "x", effect: "NoExecute" });

export default {
  title: "toleration windows begin, end and are cancelled",
  steps: [
    {
      name: "pods",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.pod("both", { node: "n1", tolerations: [tolerates("a", 9), tolerates("b", 5)] });
        await site.pod("only-a", { node: "n1", tolerations: [tolerates("a")] });
        await site.pod("first-wins", { node: "n1", tolerations: [tolerates("a"), tolerates("a", 1), tolerates("b")] });
        await site.pod("saved", { node: "n2", tolerations: [tolerates("a", 5)] });
        await site.pod("zero", { node: "n3", tolerations: [tolerates("a", 0)] });
      },
      until: (now) => ["both", "only-a", "first-wins", "saved", "zero"].every((pod) => now.podReady(pod) === "True"),
    },
    {
      name: "n2 is tainted for two seconds: nothing leaves",
      do: async (site) => {
        await site.taint("n2", taint("a"));
        await new Promise((done) => setTimeout(done, 2000));
        await site.untaint("n2", "a");
      },
      hold: 8,
    },
    {
      name: "n3 is tainted: no time at all",
      do: (site) => site.taint("n3", taint("a")),
      until: (now) => now.gone("zero"),
      timing: 2,
    },
    {
      name: "n1 gets two taints at once",
      do: (site) => site.taint("n1", taint("a"), taint("b")),
      until: (now) => now.gone("only-a") && now.gone("both"),
      timing: 2.5,
    },
    { name: "a toleration of everything stays", hold: 3 },
  ],
};
