// The state that the controllers find when they start: boards that are already lost, with and without taints.
const long = "2020-01-01T00:00:00Z";
const condition = (type, status, reason) => ({
  type,
  status,
  reason,
  message: "as it was found",
  lastHeartbeatTime: long,
  lastTransitionTime: long,
});
const lost = (name, status, taints) => ({
  kind: "Node",
  apiVersion: "v1",
  metadata: { name, labels: { "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "a" } },
  spec: { taints },
  status: { conditions: [condition("Ready", status, "Found"), condition("DiskPressure", "False", "Found")] },
});
const noExecute = (key) => ({ key: `node.kubernetes.io/${key}`, effect: "NoExecute", timeAdded: long });

export default {
  title: "a site that is found in disorder",
  before: async (site) => {
    await site.nodes(["n1", "n2", "n3", "n4"], { zone: "a" });
    await site.pod("web", { node: "n2" });
    await site.create(lost("was-ready", "True"));
    await site.create(lost("unknown", "Unknown"));
    await site.create(lost("tainted", "Unknown", [noExecute("unreachable"), noExecute("not-ready")]));
    await site.create(lost("wrong", "Unknown", [noExecute("not-ready")]));
    await site.taint("n1", noExecute("unreachable"), { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" });
    await site.taint("n2", { key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule", value: "old" });
    await site.taint("n3", { key: "node.kubernetes.io/not-ready", effect: "PreferNoSchedule" });
  },
  steps: [
    {
      name: "puts it in order",
      until: (now) =>
        !now.taints("n1").length &&
        !now.taints("n2").length &&
        ["was-ready", "unknown", "tainted", "wrong"].every((node) => now.tainted(node, "unreachable:NoExecute")),
      hold: 9,
    },
    { name: "stays so", hold: 4 },
  ],
};
