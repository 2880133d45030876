// The whole sequence: a board is lost, its pods leave service, their windows end, and the board comes back too late or
// in time.
const within = (seconds) =>
  ["not-ready", "unreachable"].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: seconds,
  }));
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);

export default {
  title: "pods of lost boards are evicted when their time is over",
  steps: [
    {
      name: "boards and pods",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5"]);
        await site.pod("short", { node: "n1", tolerations: within(3) });
        await site.pod("long", { node: "n1", tolerations: within(600) });
        await site.pod("forever", { node: "n1", tolerations: [{ operator: "Exists" }] });
        await site.pod("saved", { node: "n2", tolerations: within(12) });
        await site.pod("exchanged", { node: "n3", tolerations: within(9) });
        await site.pod("exchanged-back", { node: "n4", tolerations: within(7) });
      },
      until: (now) =>
        ["short", "long", "forever", "saved", "exchanged", "exchanged-back"].every(
          (pod) => now.podReady(pod) === "True",
        ),
    },
    {
      name: "n1 is lost: one pod is deleted, and stays until its kubelet is back",
      do: (site) => site.silence("n1"),
      until: (now) => now.leaving("short") && now.podReady("forever") === "False",
      timing: 3,
    },
    {
      name: "n1 is back",
      do: (site) => site.wake("n1"),
      until: (now) => now.gone("short") && ready(now, "n1") && now.podReady("long") === "True",
      timing: 2.5,
    },
    {
      name: "n2 is lost",
      do: (site) => site.silence("n2"),
      until: (now) => now.tainted("n2", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "and back in time",
      do: (site) => site.wake("n2"),
      until: (now) => ready(now, "n2") && now.podReady("saved") === "True",
      hold: 13,
    },
    {
      name: "n3 is not ready, then silent: the time goes on",
      do: async (site) => {
        await site.report("n3", { Ready: "False" });
        site.silence("n3");
      },
      until: (now) => now.leaving("exchanged"),
      timing: 3,
    },
    {
      name: "n4 is silent, then not ready: the time goes on",
      do: async (site) => {
        site.silence("n4");
        await site.wait((now) => now.tainted("n4", "unreachable:NoExecute"));
        await new Promise((done) => setTimeout(done, 4000));
        await site.report("n4", { Ready: "False" });
        await site.wake("n4");
      },
      until: (now) => now.gone("exchanged-back"),
      timing: 3,
    },
  ],
};
