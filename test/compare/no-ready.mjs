// The Ready condition is removed, or has an invalid status.
const withoutReady = { status: { conditions: [{ type: "Ready", $patch: "delete" }] } };
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);

export default {
  title: "boards without a Ready condition",
  options: { "node-startup-grace-period": "7s" },
  steps: [
    {
      name: "boards",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5"]);
        await site.pod("on-n1", { node: "n1" });
        await site.pod("on-n2", { node: "n2" });
      },
      until: (now) => now.podReady("on-n1") === "True" && now.podReady("on-n2") === "True",
    },
    {
      name: "a living board: its Lease speaks for it",
      do: (site) => site.patchStatus("node/n1", withoutReady, "strategic"),
      hold: 10,
    },
    {
      name: "its Lease ends",
      do: (site) => site.silence("n1"),
      until: (now) => now.condition("n1") === "Unknown",
      hold: 9,
      timing: 3,
    },
    {
      name: "a lost board: taking its condition away is no sign of life",
      do: async (site) => {
        site.silence("n2");
        await site.wait((now) => now.tainted("n2", "unreachable:NoExecute"));
        await site.patchStatus("node/n2", withoutReady, "strategic");
      },
      until: (now) => now.condition("n2") === "Unknown",
      hold: 10,
      timing: 3,
    },
    {
      name: "all conditions of a living board",
      do: (site) => site.patchStatus("node/n3", { status: { conditions: null } }),
      hold: 9,
    },
    { name: "a status that is none", do: (site) => site.report("n4", { Ready: "Maybe" }), hold: 8 },
    {
      name: "and silent",
      do: (site) => site.silence("n4"),
      until: (now) => now.condition("n4") === "Unknown",
      hold: 3,
      timing: 3,
    },
    {
      name: "all are back",
      do: async (site) => {
        await site.report("n4", { Ready: "True" });
        await site.report("n3", {});
        await site.wake("n1", "n2", "n4");
      },
      until: (now) => ready(now, "n1", "n2", "n3", "n4"),
      timing: 3,
    },
  ],
};
