// Tolerations are edited while their pods' windows run: without an end, with one again, with another one in front.
const tolerates = (key, tolerationSeconds) => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
});
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

/** The pod's tolerations in the API, including those added by admission, with others in front. */
async function edit(site, name, change) {
  const { spec } = await site.get(`pod/${name}`);
  await site.patch(`pod/${name}`, { spec: { tolerations: change(spec.tolerations) } });
}
const seconds = (key, tolerationSeconds) => (tolerations) =>
  tolerations.map(({ tolerationSeconds: before, ...rest }) => ({
    ...rest,
    ...(rest.key === key
      ? tolerationSeconds !== undefined && { tolerationSeconds }
      : before !== undefined && { tolerationSeconds: before }),
  }));

export default {
  title: "tolerations are edited while the time runs",
  steps: [
    {
      name: "pods",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.pod("freed", { node: "n1", tolerations: [tolerates("a", 6)] });
        await site.pod("welcome", { node: "n1", tolerations: [tolerates("a", 6)] });
        await site.pod("bounded", { node: "n1", tolerations: [tolerates("a")] });
        await site.pod("again", { node: "n1", tolerations: [tolerates("a", 7)] });
        await site.pod("other", { node: "n1", tolerations: [tolerates("a", 8)] });
      },
      until: (now) => ["freed", "welcome", "bounded", "again", "other"].every((pod) => now.podReady(pod) === "True"),
    },
    {
      name: "their board is tainted; two may stay for good, one only for a while, one hears of something else",
      do: async (site) => {
        await site.taint("n1", { key: "a", effect: "NoExecute" });
        await pause(2);
        await edit(site, "freed", seconds("a", undefined));
        await edit(site, "welcome", (before) => [{ operator: "Exists" }, ...before]);
        await edit(site, "bounded", seconds("a", 5));
        await edit(site, "other", (before) => [...before, tolerates("z", 1)]);
        await edit(site, "again", seconds("a", undefined));
        await pause(2);
        await edit(site, "again", seconds("a", 7));
      },
      until: (now) => now.gone("bounded", "other", "again"),
      timing: 2.5,
    },
    { name: "the two stay", hold: 3 },
    {
      name: "one of them is bounded after all, by no time at all",
      do: (site) => edit(site, "freed", seconds("a", 0)),
      until: (now) => now.gone("freed"),
      timing: 2,
    },
    {
      name: "the taint goes: a pod that was bounded meanwhile stays",
      do: async (site) => {
        await site.pod("late", { node: "n1", tolerations: [tolerates("a", 5)] });
        await site.wait((now) => now.podReady("late") === "True");
        await pause(1);
        await site.untaint("n1", "a");
      },
      hold: 6,
    },
  ],
};
