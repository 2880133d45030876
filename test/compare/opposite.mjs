// While a pod's window runs, a person sets the opposite lifecycle taint on its board, which was lost the whole time.
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const ours = (key) => ({ key: `node.kubernetes.io/${key}`, effect: "NoExecute" });
const tolerations = ["unreachable", "not-ready"].map((key) => ({
  ...ours(key),
  operator: "Exists",
  tolerationSeconds: 14,
}));

export default {
  title: "the opposite taint by hand keeps the window of a pod",
  steps: [
    {
      name: "boards and pods",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5"]);
        await site.pod("lost", { node: "n1", tolerations });
        await site.pod("unready", { node: "n2", tolerations });
      },
      until: (now) => now.podReady("lost") === "True" && now.podReady("unready") === "True",
    },
    {
      name: "n1 is lost; after seven seconds somebody adds not-ready",
      do: async (site) => {
        site.silence("n1");
        await site.wait((now) => now.tainted("n1", "unreachable:NoExecute"));
        await pause(7);
        await site.taint("n1", ours("not-ready"));
      },
      until: (now) => now.leaving("lost"),
      timing: 3,
      within: 40,
    },
    {
      name: "n2 says that it is not ready; after seven seconds somebody adds unreachable",
      do: async (site) => {
        await site.report("n2", { Ready: "False" });
        await site.wait((now) => now.tainted("n2", "not-ready:NoExecute"));
        await pause(7);
        await site.taint("n2", ours("unreachable"));
      },
      until: (now) => now.gone("unready"),
      timing: 3,
      within: 40,
    },
  ],
};
