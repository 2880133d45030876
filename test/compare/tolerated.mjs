// How tolerations are read: negative and missing seconds, wildcards, other effects, values; and when their windows
// begin.
const noExecute = { effect: "NoExecute" };
const taint = (key, value) => ({ key, effect: "NoExecute", ...(value && { value }) });
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

export default {
  title: "tolerations are read as kube-controller-manager reads them",
  steps: [
    {
      name: "pods",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4"]);
        const pods = {
          negative: [{ key: "a", operator: "Exists", ...noExecute, tolerationSeconds: -5 }],
          "any-key": [{ operator: "Exists", ...noExecute, tolerationSeconds: 6 }],
          "any-effect": [{ key: "a", operator: "Exists" }],
          everything: [{ operator: "Exists" }],
          "other-effect": [{ key: "a", operator: "Exists", effect: "NoSchedule" }],
          "other-value": [{ key: "a", operator: "Equal", value: "y", ...noExecute }],
          "same-value": [{ key: "a", operator: "Equal", value: "x", ...noExecute }],
          "no-operator": [{ key: "a", value: "x", ...noExecute, tolerationSeconds: 4 }],
          "long-then-short": [
            { key: "a", operator: "Exists", ...noExecute, tolerationSeconds: 600 },
            { operator: "Exists", ...noExecute, tolerationSeconds: 1 },
          ],
          "short-then-forever": [
            { key: "a", operator: "Exists", ...noExecute, tolerationSeconds: 4 },
            { key: "a", operator: "Exists", ...noExecute },
          ],
        };
        for (const [name, tolerations] of Object.entries(pods)) await site.pod(name, { node: "n1", tolerations });
      },
      until: (now) => now.podReady("negative") === "True" && now.podReady("short-then-forever") === "True",
    },
    {
      name: "a=x",
      do: (site) => site.taint("n1", taint("a", "x")),
      until: (now) =>
        now.gone("negative", "other-effect", "other-value", "no-operator", "short-then-forever", "any-key"),
      timing: 2.5,
    },
    { name: "the others stay", hold: 2 },
    {
      name: "the taint is removed and comes back: no time is left over from the first",
      do: async (site) => {
        await site.pod("twice", {
          node: "n2",
          tolerations: [{ key: "b", operator: "Exists", ...noExecute, tolerationSeconds: 6 }],
        });
        await site.wait((now) => now.podReady("twice") === "True");
        await site.taint("n2", taint("b"));
        await pause(4);
        await site.untaint("n2", "b");
        await pause(1);
        await site.taint("n2", taint("b"));
      },
      until: (now) => now.gone("twice"),
      timing: 2.5,
    },
    {
      name: "removed just in time",
      do: async (site) => {
        await site.pod("saved", {
          node: "n3",
          tolerations: [{ key: "c", operator: "Exists", ...noExecute, tolerationSeconds: 5 }],
        });
        await site.wait((now) => now.podReady("saved") === "True");
        await site.taint("n3", taint("c"));
        await pause(4);
        await site.untaint("n3", "c");
      },
      hold: 5,
    },
    {
      name: "pods come to a board that is tainted already",
      do: async (site) => {
        await site.taint("n4", taint("d", "z"));
        await site.pod("at-once", { node: "n4" });
        await site.pod("later", {
          node: "n4",
          tolerations: [{ key: "d", operator: "Exists", ...noExecute, tolerationSeconds: 4 }],
        });
        await site.pod("welcome", { node: "n4", tolerations: [{ key: "d", operator: "Exists" }] });
      },
      until: (now) => now.gone("at-once", "later") && now.podReady("welcome") === "True",
      timing: 2.5,
    },
    {
      name: "a second taint that no pod tolerates",
      do: (site) => site.taint("n4", taint("e")),
      until: (now) => now.gone("welcome"),
      timing: 2,
    },
    {
      name: "the value of a taint changes to one that is not tolerated",
      do: (site) => site.taint("n1", taint("a", "w")),
      until: (now) => now.gone("same-value"),
      timing: 2,
    },
  ],
};
