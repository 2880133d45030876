// A board that changes its mind around the end of its grace period: not ready, silent, ready, in every order.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const says = (site, node, status) => site.report(node, { Ready: status });

export default {
  title: "boards flip between not ready, silent and ready",
  steps: [
    {
      name: "boards and pods",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4"]);
        for (const node of ["n1", "n2", "n3"]) await site.pod(`on-${node}`, { node });
      },
      until: (now) => ["on-n1", "on-n2", "on-n3"].every((pod) => now.podReady(pod) === "True"),
    },
    {
      name: "not ready for less than a pass, then silent",
      do: async (site) => {
        await says(site, "n1", "False");
        await pause(0.3);
        await says(site, "n1", "True");
        site.silence("n1");
      },
      until: (now) => now.tainted("n1", "unreachable:NoExecute") && now.podReady("on-n1") === "False",
      timing: 3,
    },
    {
      name: "from silent to not ready, and silent again before anybody could doubt it",
      do: async (site) => {
        await says(site, "n1", "False");
        await pause(2);
        await says(site, "n1", "False");
      },
      until: (now) => now.tainted("n1", "unreachable:NoExecute") && !now.tainted("n1", "not-ready:NoExecute"),
      hold: 4,
      timing: 3,
    },
    {
      name: "one word that it is ready, without a Lease: for one grace period it is believed",
      do: (site) => says(site, "n1", "True"),
      until: (now) => now.condition("n1") === "Unknown" && now.tainted("n1", "unreachable:NoExecute"),
      hold: 3,
      timing: 3,
    },
    {
      name: "not ready, with its Lease renewed: it stays so",
      do: (site) => says(site, "n2", "False"),
      until: (now) => now.tainted("n2", "not-ready:NoExecute"),
      hold: 8,
    },
    {
      name: "its Lease ends, comes back, and its status says the same all the time",
      do: async (site) => {
        site.silence("n2");
        await site.wait((now) => now.condition("n2") === "Unknown");
        await pause(1.5);
        await site.wake("n2");
      },
      until: (now) => now.tainted("n2", "not-ready:NoExecute") && !now.tainted("n2", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "silence that ends just at the grace period, four times",
      do: async (site) => {
        for (let round = 0; round < 4; round++) {
          site.silence("n3");
          await pause(3.6);
          await site.wake("n3");
          await pause(1.2);
        }
      },
      until: (now) => ready(now, "n3") && now.podReady("on-n3") === "True",
      hold: 3,
    },
    {
      name: "all are well",
      do: async (site) => {
        for (const node of ["n1", "n2"]) {
          await says(site, node, "True");
          await site.wake(node);
        }
      },
      until: (now) => ready(now, "n1", "n2", "n3", "n4") && now.podReady("on-n1") === "True",
      timing: 3,
    },
  ],
};
