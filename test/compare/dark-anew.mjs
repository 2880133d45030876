// In a dark site a board is deleted and joins again, one is deleted for good, and one that never reports joins.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));

export default {
  title: "boards are deleted and made anew in a dark site",
  // So low that no board finds a free token when the site goes dark: otherwise kube-controller-manager's own outcome
  // varies.
  options: { "node-startup-grace-period": "4s", "node-eviction-rate": "0.1" },
  steps: [
    {
      name: "four boards of two zones",
      do: async (site) => {
        await site.nodes(["a1", "a2", "a3"], { zone: "a" });
        await site.node("b1", { zone: "b" });
        await site.pod("web", { node: "a1" });
      },
      until: (now) => ready(now, "a1", "a2", "a3", "b1") && now.podReady("web") === "True",
    },
    { name: "zone b is lost", do: (site) => site.silence("b1"), until: (now) => lost(now, "b1"), timing: 3 },
    { name: "and a1", do: (site) => site.silence("a1"), until: (now) => lost(now, "a1"), timing: 3 },
    {
      name: "and all others: the site stands still",
      do: (site) => site.silence("a2", "a3"),
      until: (now) =>
        ["a2", "a3"].every((node) => now.condition(node) === "Unknown") &&
        !now.tainted("a1", "unreachable:NoExecute") &&
        !now.tainted("b1", "unreachable:NoExecute"),
      hold: 9,
      timing: 3,
    },
    {
      name: "a2 is deleted and made anew, silent, with its last status not ready",
      do: async (site) => {
        await site.removeNode("a2");
        await site.node("a2", { zone: "a", ready: false });
        site.silence("a2");
      },
      until: (now) => now.condition("a2") === "Unknown",
      hold: 8,
    },
    {
      name: "b1 is deleted: zone b is gone",
      do: (site) => site.removeNode("b1"),
      hold: 4,
    },
    {
      name: "one joins that never posts a status",
      do: (site) => site.node("mute", { zone: "a", silent: true }),
      until: (now) => now.condition("mute") === "Unknown",
      hold: 6,
    },
    {
      name: "a3 is back: the zone is partly disrupted, and no board is tainted",
      do: (site) => site.wake("a3"),
      until: (now) => ready(now, "a3"),
      hold: 14,
    },
    {
      name: "a2 is back and well: of two lost boards one after the other is tainted",
      do: async (site) => {
        await site.report("a2", { Ready: "True" });
        await site.wake("a2");
      },
      until: (now) => ready(now, "a2") && lost(now, "a1", "mute"),
      within: 45,
      timing: 4,
    },
    {
      name: "all are back",
      do: (site) => site.wake("a1", "mute"),
      until: (now) =>
        now.condition("a1") === "True" && now.condition("mute") === "True" && now.podReady("web") === "True",
      hold: 3,
    },
  ],
};
