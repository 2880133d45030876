// Pod garbage collection, rule by rule. Finalizers keep the pods, so that writes before a deletion can be seen.
const finalizers = ["example.dev/keep"];
const outOfService = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
const noExecute = ["not-ready", "unreachable"].map((key) => ({
  key: `node.kubernetes.io/${key}`,
  operator: "Exists",
  effect: "NoExecute",
}));
const stays = [...noExecute, { key: outOfService.key, operator: "Exists", effect: "NoExecute" }];

export default {
  title: "garbage among the pods",
  options: { "terminated-pod-gc-threshold": "3" },
  before: async (site) => {
    await site.nodes(["n1", "n2", "n3"]);
    await site.pod("old", { node: "n1", play: { phase: "Succeeded" } });
    await site.pod("older", { node: "n1", play: { phase: "Failed" } });
    await site.wait((now) => ["old", "older"].every((name) => now.pod(name)?.status.phase !== "Pending"));
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await site.pod("evicted", { node: "n1" });
    await site.wait((now) => now.podReady("evicted") === "True");
    await site.says("pod/evicted", { phase: "Failed", reason: "Evicted" });
    await site.pod("young", { node: "n1", play: { phase: "Succeeded" } });
    await site.wait((now) => now.pod("young")?.status.phase === "Succeeded");
  },
  steps: [
    {
      name: "of four the evicted one goes, though it is younger than others",
      until: (now) => now.gone("evicted"),
      hold: 3,
      timing: 3,
    },
    {
      name: "a board is deleted, and its pods are there for a while",
      do: async (site) => {
        for (const name of ["lost", "lost-ending"])
          await site.pod(name, { node: "n3", finalizers, tolerations: stays });
        await site.pod("lost-done", { node: "n3", finalizers, tolerations: stays, play: { phase: "Failed" } });
        await site.pod("unbound", { finalizers });
        await site.pod("waits");
        await site.wait((now) => now.podReady("lost") === "True" && now.pod("lost-done")?.status.phase === "Failed");
        await site.removeNode("n3");
        await site.delete("pod/unbound");
      },
      until: (now) => now.pod("unbound")?.status.phase === "Failed",
      within: 40,
      hold: 15,
    },
    {
      name: "then they are Failed and deleted, and say why",
      until: (now) => ["lost", "lost-ending", "lost-done"].every((name) => now.leaving(name)),
      within: 90,
    },
    {
      name: "a board is out of service: what is terminating there goes, what is not stays",
      do: async (site) => {
        await site.pod("ending", { node: "n2", finalizers, tolerations: stays, play: { finish: "never" } });
        await site.pod("stays", { node: "n2", tolerations: stays });
        await site.wait((now) => now.podReady("ending") === "True" && now.podReady("stays") === "True");
        site.silence("n2");
        await site.wait((now) => now.condition("n2") === "Unknown");
        await site.delete("pod/ending");
        await site.taint("n2", outOfService);
      },
      until: (now) => now.pod("ending")?.status.phase === "Failed",
      within: 45,
      hold: 5,
    },
  ],
};
