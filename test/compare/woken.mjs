// Boards that wake up before their taint, right after it, and kubelets that restart.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

export default {
  title: "boards wake up in the middle of an eviction",
  options: { "node-eviction-rate": "0.15" },
  steps: [
    {
      name: "seven boards",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4", "n5", "n6", "n7"], { zone: "a" });
        for (const node of ["n1", "n2"]) await site.pod(`on-${node}`, { node });
      },
      until: (now) => ready(now, "n1", "n7") && now.podReady("on-n2") === "True",
    },
    {
      name: "n1 is tainted",
      do: (site) => site.silence("n1"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "n2 waits for its turn",
      do: (site) => site.silence("n2"),
      until: (now) => now.condition("n2") === "Unknown",
      quiet: 0.2,
    },
    { name: "and wakes up before it comes", do: (site) => site.wake("n2"), hold: 10 },
    {
      name: "n1 wakes up",
      do: (site) => site.wake("n1"),
      until: (now) => ready(now, "n1", "n2") && now.podReady("on-n1") === "True",
      timing: 2.5,
    },
    {
      name: "a kubelet restarts: not ready, then ready",
      do: async (site) => {
        await site.report("n3", { Ready: "False" });
        await pause(2.5);
        await site.report("n3", { Ready: "True" });
      },
      until: (now) => ready(now, "n3"),
      hold: 4,
    },
    {
      name: "silences shorter than the grace period, one after the other",
      do: async (site) => {
        for (let round = 0; round < 3; round++) {
          site.silence("n4");
          await pause(2.5);
          await site.wake("n4");
          await pause(1.5);
        }
      },
      hold: 3,
    },
    {
      name: "one about as long as it",
      do: async (site) => {
        site.silence("n5");
        await pause(5.5);
        await site.wake("n5");
      },
      until: (now) => ready(now, "n5"),
      hold: 4,
    },
    {
      name: "one just longer, on the side of the status alone",
      do: async (site) => {
        await site.heartbeat("n6", "none");
        await pause(7.5);
        await site.wake("n6");
      },
      until: (now) => ready(now, "n6"),
      hold: 4,
    },
  ],
};
