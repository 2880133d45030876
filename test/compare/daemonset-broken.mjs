// An update in which some of the old pods are already broken.
const limit = (maxUnavailable) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable } } });
const all = (now, count) => now.podsOf("agent").length === count && now.daemon("agent").numberReady === count;

export default {
  title: "broken old pods of an update go first, and count",
  steps: [
    {
      name: "five boards",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5"]);
        await site.daemonSet("agent", { ...limit(1), play: { finish: "never" } });
      },
      until: (now) => all(now, 5),
    },
    {
      name: "two of them break",
      do: async (site) => {
        await site.says("pod/agent@n1", { ready: false });
        await site.says("pod/agent@n2", { ready: false });
      },
      until: (now) => now.daemon("agent").numberReady === 3,
    },
    {
      name: "an update with one at a time: the broken ones go, and no other",
      do: (site) => site.roll("agent", "example/agent:2"),
      hold: 3,
      until: (now) => now.podsOf("agent").filter(({ metadata }) => metadata.deletionTimestamp).length === 2,
    },
    {
      name: "with five at a time: all go",
      do: (site) => site.patch("daemonset/agent", { spec: limit("100%") }),
      until: (now) => now.podsOf("agent").every(({ metadata }) => metadata.deletionTimestamp),
    },
  ],
};
