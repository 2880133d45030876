// Another client writes to a silent board many times a second: writing its taint conflicts again and again, and costs
// one token.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);

export default {
  title: "a silent board that is written to many times a second",
  // So low that a lost token is noticeable: the next one comes after twenty seconds.
  options: { "node-eviction-rate": "0.05" },
  steps: [
    {
      name: "boards",
      do: (site) => site.nodes(["n1", "n2", "n3", "n4", "n5"]),
      until: (now) => ready(now, "n1", "n2", "n3", "n4", "n5"),
    },
    {
      name: "n1 falls silent and is annotated for nine seconds: it is tainted all the same",
      do: async (site) => {
        site.silence("n1");
        const end = Date.now() + 9000;
        for (let count = 0; Date.now() < end; count++) {
          await site.annotate("node/n1", { busy: `${count}` });
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        await site.annotate("node/n1", { busy: null });
      },
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "n2 falls silent and waits for the next token",
      do: (site) => site.silence("n2"),
      until: (now) => now.tainted("n2", "unreachable:NoExecute"),
      within: 30,
    },
  ],
};
