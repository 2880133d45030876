// Two kinds of heartbeat: a Lease without a status, a status without a Lease, and a change from one to the other.
const ready = (now, ...nodes) => nodes.every((node) => now.condition(node) === "True" && !now.taints(node).length);
const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const lease = (name) => `lease/kube-node-lease/${name}`;

export default {
  title: "heartbeats by Lease and by status",
  options: { "node-startup-grace-period": "7s" },
  steps: [
    {
      name: "boards; one registers late without a status, one has nothing but a Lease",
      do: async (site) => {
        await site.nodes(["n1", "n2", "n3", "n4"]);
        await pause(2);
        await site.node("mute", { silent: true });
        await site.node("lease-only", { status: false });
      },
      until: (now) => now.condition("mute") === "Unknown",
      hold: 12,
      timing: 3,
    },
    {
      name: "its Lease ends: it never posted a status",
      do: (site) => site.silence("lease-only"),
      until: (now) => now.condition("lease-only") === "Unknown",
      timing: 3,
    },
    {
      name: "from Lease to status, and without its Lease object",
      do: async (site) => {
        await site.heartbeat("n1", "status");
        await pause(3);
        await site.delete(lease("n1"));
      },
      hold: 9,
    },
    {
      name: "from status to nothing",
      do: (site) => site.heartbeat("n1", "none"),
      until: (now) => now.tainted("n1", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "a Lease alone does not bring it back: its condition is for its kubelet to write",
      do: (site) => site.heartbeat("n1", "lease"),
      hold: 8,
    },
    { name: "its status does", do: (site) => site.wake("n1"), until: (now) => ready(now, "n1"), timing: 3 },
    {
      name: "the Lease of a living board is deleted now and then",
      do: async (site) => {
        for (let round = 0; round < 3; round++) {
          await site.delete(lease("n2")).catch(() => {});
          await pause(2.2);
        }
      },
      hold: 3,
    },
    {
      name: "a lost board: its Lease is deleted, then its Node is touched by a person",
      do: async (site) => {
        site.silence("n3");
        await pause(2);
        await site.delete(lease("n3"));
        await site.annotate("node/n3", { "example.dev/note": "looks odd" });
      },
      until: (now) => now.tainted("n3", "unreachable:NoExecute"),
      timing: 3,
    },
    {
      name: "heartbeats by both ways in turn, each too rare by itself",
      do: async (site) => {
        await site.heartbeat("n4", "none");
        for (let round = 0; round < 2; round++) {
          await pause(3.2);
          await site.report("n4", {});
          await pause(3.2);
          await site.heartbeat("n4", "lease");
          await pause(1.2);
          await site.heartbeat("n4", "none");
        }
        await site.wake("n4");
      },
      until: (now) => ready(now, "n4"),
      hold: 2,
    },
  ],
};
