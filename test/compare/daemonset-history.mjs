// Revisions: how many are kept, and how an earlier one comes back.
const back = async (site, name, revision) => {
  const found = [];
  for (const one of await site.names("ControllerRevision")) found.push(await site.get(`controllerrevision/${one}`));
  const { data } = found.find((one) => one.revision === revision && one.metadata.ownerReferences?.[0]?.name === name);
  await site.patch(`daemonset/${name}`, data, "strategic");
};

export default {
  title: "revisions are kept, raised, limited and repaired",
  steps: [
    {
      name: "a template",
      do: async (site) => {
        await site.nodes(["n1"]);
        await site.daemonSet("agent", { revisionHistoryLimit: 2, annotations: { why: "first" } });
      },
      until: (now) => now.rolled("agent", 1),
    },
    {
      name: "a second one",
      do: (site) => site.roll("agent", "example/agent:2"),
      until: (now) => now.rolled("agent", 1),
    },
    {
      name: "a third one",
      do: (site) => site.roll("agent", "example/agent:3"),
      until: (now) => now.rolled("agent", 1) && now.revisions("agent").length === 3,
    },
    {
      name: "a fourth: the oldest revision goes",
      do: (site) => site.roll("agent", "example/agent:4"),
      until: (now) => now.rolled("agent", 1) && now.revisions("agent").length === 3,
    },
    {
      name: "back to the second: it becomes the fifth",
      do: (site) => back(site, "agent", 2),
      until: (now) => now.rolled("agent", 1) && now.revisions("agent").some(({ revision }) => revision === 5),
    },
    {
      name: "a limit of nothing",
      do: (site) => site.patch("daemonset/agent", { spec: { revisionHistoryLimit: 0 } }),
      until: (now) => now.revisions("agent").length === 1,
    },
    {
      name: "a revision is deleted by hand: it comes back",
      do: async (site) => {
        const [name] = await site.names("ControllerRevision");
        await site.delete(`controllerrevision/${name}`);
      },
      hold: 2,
      until: (now) => now.revisions("agent").length === 1 && now.rolled("agent", 1),
    },
    {
      name: "its label is taken off: it gets its name for it",
      do: async (site) => {
        const [name] = await site.names("ControllerRevision");
        await site.label(`controllerrevision/${name}`, { "controller-revision-hash": null });
      },
      hold: 2,
      until: (now) => now.revisions("agent").every(({ metadata }) => metadata.labels["controller-revision-hash"]),
    },
    {
      name: "a second revision of the same template: one is enough",
      do: async (site) => {
        const [name] = await site.names("ControllerRevision");
        const { metadata, data, revision } = await site.get(`controllerrevision/${name}`);
        await site.create({
          apiVersion: "apps/v1",
          kind: "ControllerRevision",
          data,
          revision: revision + 1,
          metadata: {
            name: "by-hand",
            labels: { ...metadata.labels, "controller-revision-hash": "by-hand" },
            ownerReferences: metadata.ownerReferences,
          },
        });
        await site.annotate("daemonset/agent", { note: "look" });
      },
      until: (now) => now.revisions("agent").length === 1 && now.rolled("agent", 1),
    },
  ],
};
