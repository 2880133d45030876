// More than fifty boards: when most of them are silent the zone goes on at the secondary rate, and stops in a smaller zone.
const names = (prefix, count) =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index + 1).padStart(2, "0")}`);
const large = names("l", 52);
const lostFirst = large.slice(0, 1);
const lostThen = large.slice(1, 30);
const small = names("s", 50);
// Both taints: on a busy machine kube-controller-manager may write the second one many seconds after the first.
const lost = (now, node) => ["NoExecute", "NoSchedule"].every((effect) => now.tainted(node, `unreachable:${effect}`));

// A hundred boards with a heartbeat every second are a heavy load for a busy machine, so each has fifteen seconds for
// its next one. No zone gets a second token before the story ends, so that only its rate while partly disrupted
// matters.
const options = {
  "node-monitor-grace-period": "15s",
  "node-eviction-rate": "0.01",
  "secondary-node-eviction-rate": "4",
};

export default {
  title: "a zone of more than fifty boards, and one of fifty",
  options,
  steps: [
    {
      name: "two zones",
      do: async (site) => {
        await site.nodes(large, { zone: "large" });
        await site.nodes(small, { zone: "small" });
        await site.pod("web", { node: "l30" });
      },
      until: (now) =>
        [...large, ...small].every((node) => now.condition(node) === "True") && now.podReady("web") === "True",
      within: 90,
    },
    {
      name: "one of each takes the token of its zone",
      do: (site) => site.silence(...lostFirst, "s01"),
      until: (now) => [...lostFirst, "s01"].every((node) => lost(now, node)),
      within: 90,
      timing: 8,
    },
    {
      name: "thirty of each: the large zone is tainted board by board, the other one not",
      do: (site) => site.silence(...lostThen, ...small.slice(1, 30)),
      until: (now) => lostThen.every((node) => lost(now, node)) && now.podReady("web") === "False",
      within: 90,
      timing: 4,
    },
    {
      name: "eleven are back in each: no more partly disrupted, and all have their taint already",
      do: (site) => site.wake(...large.slice(0, 11), ...small.slice(0, 11)),
      until: (now) => large.slice(0, 11).every((node) => !now.taints(node).length),
      within: 60,
    },
    {
      name: "all are back",
      do: (site) => site.wake(...large.slice(11, 30), ...small.slice(11, 30)),
      until: (now) => [...large, ...small].every((node) => now.condition(node) === "True" && !now.taints(node).length),
      within: 60,
      timing: 8,
    },
  ],
};
