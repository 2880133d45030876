// The deletion of a set, and pods that do not terminate.
export default {
  title: "sets that are deleted, and pods that linger",
  steps: [
    {
      name: "two boards, a pod that never ends",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await site.daemonSet("agent", { play: { finish: "never" } });
        await site.daemonSet("other");
      },
      until: (now) => now.rolled("agent", 2) && now.rolled("other", 2),
    },
    { name: "it is deleted: nothing comes in its place yet", do: (site) => site.delete("pod/agent@n1"), hold: 3 },
    {
      name: "it is over: its place is free",
      do: (site) => site.says("pod/agent@n1", { phase: "Failed" }),
      until: (now) => now.podsOf("agent", "n1").length === 2,
    },
    {
      name: "a set that is held by a finalizer does nothing any more",
      do: async (site) => {
        await site.patch("daemonset/other", { metadata: { finalizers: ["example.com/held"] } });
        await site.delete("daemonset/other", { propagationPolicy: "Background" });
        await site.delete("pod/other@n1");
      },
      hold: 3,
    },
  ],
};
