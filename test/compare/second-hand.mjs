// People and controllers taint the same board: a second taint during a window, ours taken away by hand, ours with a value.
const tolerates = (key, tolerationSeconds) => ({
  key: key === "unreachable" || key === "not-ready" ? `node.kubernetes.io/${key}` : key,
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
});
const both = (seconds) => [tolerates("unreachable", seconds), tolerates("not-ready", seconds)];
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const lost = (now, node) => now.tainted(node, "unreachable:NoExecute");

export default {
  title: "a second taint on a lost board",
  steps: [
    {
      name: "boards and pods",
      do: async (site) => {
        // With this many boards, only a part of the zone is ever lost.
        await site.nodes(["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]);
        await site.pod("first", { node: "n1", tolerations: [...both(8), tolerates("work", 60)] });
        await site.pod("at-once", { node: "n1", tolerations: both(60) });
        await site.pod("only-ours", { node: "n2", tolerations: [...both(9), tolerates("work")] });
        await site.pod("only-theirs", { node: "n2", tolerations: [...both(), tolerates("work", 7)] });
        await site.pod("hands-off", { node: "n3", tolerations: both(60) });
        // Admission adds no toleration of not-ready if there already is one, even one with a value that none of our
        // taints has.
        const other = { ...tolerates("not-ready"), operator: "Equal", value: "other" };
        await site.pod("half", { node: "n4", tolerations: [tolerates("unreachable", 60), other] });
      },
      until: (now) =>
        ["first", "at-once", "only-ours", "only-theirs", "hands-off"].every((pod) => now.podReady(pod) === "True"),
    },
    {
      name: "n1 is lost, and somebody begins to work on it: who does not tolerate that leaves at once",
      do: async (site) => {
        site.silence("n1");
        await site.wait((now) => lost(now, "n1"));
        await pause(3);
        await site.taint("n1", { key: "work", effect: "NoExecute" });
      },
      until: (now) => now.leaving("at-once") && now.leaving("first"),
      timing: 3,
    },
    {
      name: "somebody works on n2, and it is lost meanwhile: each window counts by itself",
      do: async (site) => {
        await site.taint("n2", { key: "work", effect: "NoExecute" });
        site.silence("n2");
      },
      until: (now) => now.leaving("only-theirs") && now.leaving("only-ours"),
      timing: 3,
    },
    {
      name: "n3 is lost; its taint is taken away by hand, and comes back",
      do: async (site) => {
        site.silence("n3");
        await site.wait((now) => lost(now, "n3"));
        await site.untaint("n3", "node.kubernetes.io/unreachable");
      },
      until: (now) => lost(now, "n3") && now.tainted("n3", "unreachable:NoSchedule"),
      timing: 3,
    },
    {
      name: "it gets a value by hand, and keeps it",
      do: (site) => site.taint("n3", { key: "node.kubernetes.io/unreachable", value: "mine", effect: "NoExecute" }),
      hold: 4,
    },
    {
      name: "a pod that tolerates only the one taint leaves when the board says the other",
      do: async (site) => {
        site.silence("n4");
        await site.wait((now) => lost(now, "n4"));
        await pause(1);
        await site.report("n4", { Ready: "False" });
        await site.wake("n4");
      },
      until: (now) => now.gone("half") && now.tainted("n4", "not-ready:NoExecute"),
      timing: 3,
    },
    {
      name: "boards are back: only what people put on them stays",
      do: async (site) => {
        await site.report("n4", { Ready: "True" });
        await site.wake("n1", "n2", "n3");
      },
      until: (now) =>
        ["n1", "n2"].every((node) => now.taints(node).join() === "work:NoExecute") &&
        ["n3", "n4"].every((node) => !now.taints(node).length),
      timing: 3,
    },
  ],
};
