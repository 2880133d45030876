// The pods on a lost board: daemon pods, static, finished and terminating ones, and pods without tolerationSeconds.
const noExecute = (key, more = {}) => ({
  key: `node.kubernetes.io/${key}`,
  operator: "Exists",
  effect: "NoExecute",
  ...more,
});
const noSchedule = (key) => ({ key: `node.kubernetes.io/${key}`, operator: "Exists", effect: "NoSchedule" });
const daemon = [
  noExecute("not-ready"),
  noExecute("unreachable"),
  ...["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"].map(noSchedule),
];
/** Keeps admission from adding its own, and matches no taint of ours. */
const ofAnotherValue = noExecute("unreachable", { operator: "Equal", value: "other" });
const soon = ["not-ready", "unreachable"].map((key) => noExecute(key, { tolerationSeconds: 3 }));

export default {
  title: "the pods of a lost board",
  steps: [
    {
      name: "a board with pods of every kind",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await site.pod("daemon", { node: "n1", tolerations: daemon });
        await site.pod("static", {
          node: "n1",
          annotations: { "kubernetes.io/config.mirror": "hash", "kubernetes.io/config.source": "file" },
          tolerations: [{ operator: "Exists", effect: "NoExecute" }],
        });
        await site.pod("usual", { node: "n1" });
        await site.pod("short", { node: "n1", tolerations: soon });
        await site.pod("done", { node: "n1", tolerations: soon, play: { phase: "Succeeded" } });
        await site.pod("failed", { node: "n1", tolerations: soon, play: { phase: "Failed" } });
        await site.pod("never-ready", { node: "n1", tolerations: soon, play: { ready: "false" } });
        await site.pod("ending", { node: "n1", tolerations: soon, play: { finish: "never" } });
        await site.pod("kept", { node: "n1", tolerations: soon, finalizers: ["example.dev/keep"] });
        await site.pod("no-time", { node: "n1", tolerations: soon.map((one) => ({ ...one, tolerationSeconds: 0 })) });
        await site.pod("unbound", { tolerations: soon });
        await site.pod("elsewhere", { node: "n2", tolerations: soon });
      },
      until: (now) =>
        ["daemon", "static", "usual", "short", "ending", "kept", "no-time"].every(
          (pod) => now.podReady(pod) === "True",
        ) &&
        now.pod("done")?.status.phase === "Succeeded" &&
        now.pod("failed")?.status.phase === "Failed" &&
        now.podReady("never-ready") === "False",
    },
    {
      name: "one is being deleted when the board falls silent",
      do: async (site) => {
        await site.delete("pod/ending");
        site.silence("n1");
      },
      until: (now) => ["short", "kept", "no-time", "never-ready", "ending"].every((pod) => now.leaving(pod)),
      hold: 11,
      timing: 3,
    },
    {
      name: "pods are bound to it while it is lost, one of them for good",
      do: async (site) => {
        await site.pod("late", { node: "n1", tolerations: soon });
        await site.pod("late-daemon", { node: "n1", tolerations: daemon });
        await site.pod("not-welcome", { node: "n1", tolerations: [ofAnotherValue, noExecute("not-ready")] });
      },
      until: (now) => now.leaving("late") && now.leaving("not-welcome"),
      timing: 2.5,
    },
    {
      name: "it is back: those that were asked to end do so, the others are in service again",
      do: (site) => site.wake("n1"),
      until: (now) =>
        now.gone("short", "never-ready", "no-time", "late", "not-welcome") &&
        ["daemon", "static", "usual", "late-daemon"].every((pod) => now.podReady(pod) === "True"),
      timing: 3,
    },
  ],
};
