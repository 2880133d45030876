// More pods of a set than it should have, and templates of all kinds.
const hand = async (site, name, node, labels = {}) => {
  const { metadata } = await site.get("daemonset/agent");
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent", uid: metadata.uid, controller: true };
  await site.pod(name, { node, labels: { app: "agent", ...labels }, owners: [owner] });
};

export default {
  title: "surplus pods go, and a template arrives as it is",
  steps: [
    {
      name: "a template with nearly everything",
      do: async (site) => {
        await site.nodes(["n1", "n2"]);
        await site.daemonSet("agent", {
          annotations: { "example.com/a": "1 & 2 < 3" },
          templateLabels: { tier: "edge" },
          template: {
            hostNetwork: true,
            priorityClassName: "system-node-critical",
            terminationGracePeriodSeconds: 5,
            nodeSelector: { "kubernetes.io/os": "linux" },
            tolerations: [
              { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 },
              { key: "mine", operator: "Equal", value: "x" },
            ],
            affinity: {
              podAntiAffinity: {
                preferredDuringSchedulingIgnoredDuringExecution: [
                  {
                    weight: 5,
                    podAffinityTerm: {
                      topologyKey: "kubernetes.io/hostname",
                      labelSelector: { matchLabels: { tier: "edge" } },
                    },
                  },
                ],
              },
            },
            initContainers: [{ name: "init", image: "example/init:1", args: ["-c", "a && b"] }],
            containers: [
              {
                name: "main",
                image: "example/agent:1",
                ports: [{ containerPort: 9100, name: "metrics" }],
                env: [{ name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
                resources: { requests: { cpu: "0.1", memory: "64Mi" }, limits: { memory: "128Mi" } },
                readinessProbe: { httpGet: { path: "/ready", port: 9100 } },
                volumeMounts: [{ name: "sys", mountPath: "/sys", readOnly: true }],
              },
            ],
            volumes: [{ name: "sys", hostPath: { path: "/sys" } }],
          },
        });
      },
      until: (now) => now.rolled("agent", 2),
    },
    {
      name: "a second pod on a board, made by hand: the younger one goes",
      do: (site) => hand(site, "zz-by-hand", "n1"),
      until: (now) => now.gone("zz-by-hand"),
    },
    {
      name: "one on a board that the set does not want",
      do: async (site) => {
        await site.node("n3", { taints: [{ key: "closed", effect: "NoExecute" }] });
        await hand(site, "misplaced", "n3");
      },
      until: (now) => now.gone("misplaced"),
    },
    {
      name: "one that is out of place but may stay, until somebody rolls out",
      do: async (site) => {
        await site.node("n4", { taints: [{ key: "closed", effect: "NoSchedule" }] });
        await hand(site, "stays", "n4");
      },
      hold: 3,
    },
    {
      name: "the strategy changes to surge: a number and a share",
      do: (site) =>
        site.patch("daemonset/agent", {
          spec: { minReadySeconds: 1, updateStrategy: { rollingUpdate: { maxSurge: "50%", maxUnavailable: 0 } } },
        }),
      hold: 4,
    },
  ],
};
