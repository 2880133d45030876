// The only living zone is deleted while another one is being tainted: kube-controller-manager sees no change in this.
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));
const zoneB = ["b1", "b2", "b3"];

export default {
  title: "the only living zone is deleted",
  options: { "node-eviction-rate": "0.12" },
  steps: [
    {
      name: "two zones",
      do: async (site) => {
        await site.nodes(["a1", "a2"], { zone: "a" });
        await site.nodes(zoneB, { zone: "b" });
      },
      until: (now) => now.condition("b3") === "True",
    },
    {
      name: "zone b is being tainted when zone a is deleted: it goes on",
      do: async (site) => {
        site.silence("b1");
        await site.wait((now) => lost(now, "b1"));
        site.silence("b2", "b3");
        await site.wait((now) => now.condition("b2") === "Unknown" && now.condition("b3") === "Unknown");
        await site.removeNode("a1");
        await site.removeNode("a2");
      },
      until: (now) => lost(now, ...zoneB),
      within: 45,
      hold: 25,
      timing: 4,
    },
    { name: "a board of zone a joins", do: (site) => site.node("a1", { zone: "a" }), hold: 10 },
    {
      name: "zone b is back",
      do: (site) => site.wake(...zoneB),
      until: (now) => zoneB.every((node) => !now.taints(node).length),
      timing: 2.5,
    },
  ],
};
