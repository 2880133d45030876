// Boards change their zone while the site is in trouble: the last ready one leaves a zone, a zone vanishes and comes back.
const lost = (now, ...nodes) => nodes.every((node) => now.tainted(node, "unreachable:NoExecute"));
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);
const move = (site, node, zone) => site.label(`node/${node}`, { "topology.kubernetes.io/zone": zone });

export default {
  title: "zones lose their last board",
  // So low that no zone has a token when the site goes dark: otherwise the board that got it would vary from run to
  // run.
  options: { "node-eviction-rate": "0.06" },
  steps: [
    {
      name: "two zones",
      do: async (site) => {
        await site.nodes(["a1", "a2", "a3", "a4"], { zone: "a" });
        await site.nodes(["b1", "b2"], { zone: "b" });
      },
      until: (now) => ready(now, "a1", "a2", "a3", "a4", "b1", "b2"),
    },
    {
      name: "a1 takes the token of its zone",
      do: (site) => site.silence("a1"),
      until: (now) => lost(now, "a1"),
      timing: 3,
    },
    {
      name: "two more: zone a is partly disrupted and waits",
      do: (site) => site.silence("a2", "a3"),
      until: (now) => now.condition("a2") === "Unknown" && now.condition("a3") === "Unknown",
      hold: 12,
    },
    {
      name: "its last ready board moves to zone b: what is left is a lost zone, and goes on",
      do: (site) => move(site, "a4", "b"),
      until: (now) => lost(now, "a2", "a3"),
      within: 60,
      timing: 4,
    },
    {
      name: "b1 is lost, which takes the token of zone b",
      do: (site) => site.silence("b1"),
      until: (now) => lost(now, "b1"),
      timing: 3,
    },
    {
      name: "a lost board moves to a zone of its own, and that zone vanishes again",
      do: async (site) => {
        await move(site, "b1", "c");
        await new Promise((done) => setTimeout(done, 3000));
        await move(site, "b1", "b");
      },
      hold: 5,
    },
    {
      name: "all of zone b: no board is ready anywhere",
      do: (site) => site.silence("b2", "a4"),
      until: (now) =>
        now.condition("b2") === "Unknown" &&
        now.condition("a4") === "Unknown" &&
        !now.tainted("a1", "unreachable:NoExecute"),
      hold: 9,
    },
    {
      name: "in the dark all boards of zone a move to zone b: it stays dark",
      do: async (site) => {
        for (const node of ["a1", "a2", "a3"]) await move(site, node, "b");
      },
      hold: 7,
    },
    {
      name: "all are back",
      do: (site) => site.wake("a1", "a2", "a3", "a4", "b1", "b2"),
      until: (now) => ready(now, "a1", "a2", "a3", "a4", "b1", "b2"),
    },
  ],
};
