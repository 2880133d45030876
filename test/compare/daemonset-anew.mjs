// A set that is deleted without its pods, and recreated.
const orphaned = async (site, ref) => site.patch(ref, { metadata: { ownerReferences: null } });

export default {
  title: "a set that is made anew takes over what the old one left behind",
  steps: [
    {
      name: "three boards, two templates",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.daemonSet("agent", { updateStrategy: { type: "OnDelete" } });
      },
      until: (now) => now.rolled("agent", 3),
    },
    {
      name: "one pod of the new template",
      do: async (site) => {
        await site.roll("agent", "example/agent:2");
        await site.wait((now) => now.daemon("agent").observedGeneration === 2);
        await site.delete("pod/agent@n1");
      },
      until: (now) => now.daemon("agent").updatedNumberScheduled === 1 && now.daemon("agent").numberReady === 3,
    },
    {
      name: "the set is deleted, its pods and revisions stay without an owner",
      do: async (site) => {
        await site.delete("daemonset/agent", { propagationPolicy: "Background" });
        for (const pod of await site.names("Pod")) await orphaned(site, `pod/${pod}`);
        for (const one of await site.names("ControllerRevision")) await orphaned(site, `controllerrevision/${one}`);
      },
      hold: 2,
    },
    {
      name: "it comes back with the second template: it adopts them all",
      do: (site) => site.daemonSet("agent", { updateStrategy: { type: "OnDelete" }, image: "example/agent:2" }),
      until: (now) => now.daemon("agent").currentNumberScheduled === 3 && now.podsOf("agent").length === 3,
    },
    {
      name: "another set that selects the same pods gets none of them, but pods of its own",
      do: (site) =>
        site.daemonSet("twin", {
          selector: { matchExpressions: [{ key: "app", operator: "In", values: ["agent", "twin"] }] },
        }),
      until: (now) => now.rolled("twin", 3),
    },
    {
      name: "an orphan that both would have",
      do: (site) => site.pod("both", { node: "n2", labels: { app: "twin" } }),
      hold: 2,
      until: (now) => now.gone("both"),
    },
  ],
};
