// The controllers restart while a board is silent, and while one comes back.
export default {
  title: "a restart in the middle of an outage",
  steps: [
    {
      name: "three boards",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3"]);
        await site.pod("stays", { node: "n1" });
      },
      until: (now) => now.podReady("stays") === "True",
    },
    {
      name: "n1 falls silent and is tainted",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute") && now.podReady("stays") === "False",
      timing: 2.5,
    },
    {
      name: "the controllers restart: it stays tainted",
      do: async (site) => {
        await site.stopControllers();
        await site.startControllers();
      },
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      hold: 8,
    },
    {
      name: "they stop, n2 falls silent, they start again",
      do: async (site) => {
        await site.stopControllers();
        site.silence("n2");
        await site.startControllers();
      },
      until: (now) => now.tainted("n2", "unreachable:NoExecute"),
      timing: 4,
    },
    {
      name: "they stop, n1 comes back, they start again",
      do: async (site) => {
        await site.stopControllers();
        await site.wake("n1");
        await site.startControllers();
      },
      until: (now) => !now.taints("n1").length && now.podReady("stays") === "True",
      timing: 4,
    },
  ],
};
