// Boards that appear after their pods, and boards that are deleted and come back while their pods' windows run.
const within = (seconds) =>
  ["not-ready", "unreachable"].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: seconds,
  }));
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const lost = (now, node) => now.tainted(node, "unreachable:NoExecute");

export default {
  title: "boards come late, and come back in time",
  steps: [
    {
      name: "boards, and pods of one that is not there",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5"]);
        await site.pod("early", { node: "late" });
        await site.pod("welcome", { node: "late", tolerations: [{ operator: "Exists" }] });
        await site.pod("saved", { node: "n1", tolerations: within(9) });
        await site.pod("again", { node: "n2", tolerations: within(9) });
      },
      until: (now) => now.podReady("saved") === "True" && now.podReady("again") === "True",
    },
    {
      name: "it comes, and is tainted from the beginning",
      do: (site) => site.node("late", { taints: [{ key: "setup", effect: "NoExecute" }] }),
      until: (now) => now.gone("early") && now.podReady("welcome") === "True",
      timing: 2,
    },
    {
      name: "n1 is lost, deleted, and back in time: its pod stays",
      do: async (site) => {
        site.silence("n1");
        await site.wait((now) => lost(now, "n1"));
        await pause(2);
        await site.removeNode("n1");
        await pause(2);
        await site.node("n1");
      },
      until: (now) => now.condition("n1") === "True",
      hold: 14,
    },
    {
      name: "n2 is lost, deleted, and lost anew: its pod has its whole time again",
      do: async (site) => {
        site.silence("n2");
        await site.wait((now) => lost(now, "n2"));
        await pause(4);
        await site.removeNode("n2");
        await site.node("n2");
        site.silence("n2");
      },
      until: (now) => now.leaving("again"),
      timing: 3,
    },
  ],
};
