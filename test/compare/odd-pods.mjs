// Unusual pods: finished, terminating, static, of a DaemonSet, not bound yet, recreated under their name.
const noExecute = { effect: "NoExecute" };
const taint = (key) => ({ key, value: "x", effect: "NoExecute" });
const within = (key, tolerationSeconds) => ({ key, operator: "Exists", ...noExecute, tolerationSeconds });
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

export default {
  title: "odd pods on tainted boards",
  steps: [
    {
      name: "pods",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.pod("succeeded", { node: "n1", play: { phase: "Succeeded" } });
        await site.pod("failed", { node: "n1", play: { phase: "Failed" } });
        await site.pod("not-ready", { node: "n1", play: { ready: "false" } });
        await site.pod("static", {
          node: "n1",
          annotations: { "kubernetes.io/config.mirror": "hash", "kubernetes.io/config.source": "file" },
        });
        await site.pod("critical", { node: "n1", priorityClassName: "system-node-critical", namespace: "kube-system" });
        await site.pod("unbound", {});
        await site.pod("slow", { node: "n1", play: { finish: "never" }, finalizers: ["example.dev/keep"] });
        await site.pod("again", { node: "n2", tolerations: [within("b", 5)] });
        await site.pod("moved", { node: "n2", tolerations: [within("b", 5)] });
      },
      until: (now) =>
        now.podReady("moved") === "True" &&
        now.podReady("slow") === "True" &&
        now.pod("succeeded")?.status.phase === "Succeeded",
    },
    {
      name: "one is being deleted already",
      do: (site) => site.delete("pod/slow"),
      until: (now) => now.leaving("slow"),
    },
    {
      name: "their board is tainted",
      do: (site) => site.taint("n1", taint("a")),
      until: (now) => now.gone("succeeded", "failed", "not-ready", "static"),
      hold: 3,
    },
    {
      name: "one is made anew on the same board, one on another, while their time runs",
      do: async (site) => {
        await site.taint("n2", taint("b"));
        await pause(3);
        for (const name of ["again", "moved"]) await site.delete(`pod/${name}`, { gracePeriodSeconds: 0 });
        await site.wait((now) => now.gone("again", "moved"));
        await site.pod("again", { node: "n2", tolerations: [within("b", 5)] });
        await site.pod("moved", { node: "n3", tolerations: [within("b", 5)] });
      },
      until: (now) => now.podReady("moved") === "True" && now.gone("again"),
      hold: 8,
    },
    {
      name: "the unbound one is bound to a tainted board",
      do: (site) =>
        site.create({
          kind: "Pod",
          apiVersion: "v1",
          metadata: { name: "pinned", namespace: "default" },
          spec: {
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }],
                },
              },
            },
            containers: [{ name: "main", image: "example/app:1" }],
          },
        }),
      until: (now) => now.gone("pinned"),
      hold: 2,
    },
    {
      name: "a silent board: finished pods and those that were never ready",
      do: async (site) => {
        await site.pod("done", { node: "n3", play: { phase: "Succeeded" } });
        await site.pod("unready", { node: "n3", play: { ready: "false" } });
        await site.wait((now) => now.pod("done")?.status.phase === "Succeeded" && now.podReady("unready") === "False");
        site.silence("n3");
        await site.pod("fresh", { node: "n3" });
      },
      until: (now) => now.tainted("n3", "unreachable:NoExecute") && now.podReady("moved") === "False",
      timing: 3,
    },
    {
      name: "a pod that claims to be ready comes to it",
      do: async (site) => {
        await site.pod("bold", { node: "n3" });
        await pause(1);
        await site.says("pod/bold", { phase: "Running", ready: true });
      },
      hold: 3,
    },
    {
      name: "it is back",
      do: (site) => site.wake("n3"),
      until: (now) => !now.taints("n3").length && now.podReady("moved") === "True",
    },
  ],
};
