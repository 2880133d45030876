/** A pod with everything that we keep of one, and things that we do not. Its list is in this folder, in both forms. */
const image = "registry.test/app:1";
const uid = (end: string): string => `11111111-2222-3333-4444-${end.repeat(6)}`;

/** The pod's runtime class, without which an API server accepts no overhead. */
export const fullPodRuntime = {
  metadata: { name: "heavy" },
  handler: "heavy",
  overhead: { podFixed: { cpu: "10m", memory: "32Mi" } },
};

export const fullPod = {
  metadata: {
    name: "everything",
    labels: { app: "web", "site.test/size": "grosse" },
    annotations: {
      "siteward.dev/on-silence": "replace-when-lost",
      "siteward.dev/note": 'ä € 😀 "quoted" \\',
      "site.test/large": "x".repeat(300),
    },
    finalizers: ["site.test/first", "site.test/second"],
    ownerReferences: [
      {
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        name: "web-1",
        uid: uid("55"),
        controller: true,
        blockOwnerDeletion: false,
      },
      { apiVersion: "v1", kind: "ConfigMap", name: "loose", uid: uid("66") },
    ],
  },
  spec: {
    nodeName: "board-0001",
    hostname: "web-1",
    subdomain: "web",
    hostNetwork: true,
    restartPolicy: "OnFailure",
    runtimeClassName: fullPodRuntime.metadata.name,
    overhead: fullPodRuntime.overhead.podFixed,
    resources: { requests: { cpu: "500m", memory: "128Mi" }, limits: { cpu: "1" } },
    terminationGracePeriodSeconds: 0,
    nodeSelector: { disk: "sd", empty: "" },
    tolerations: [
      { key: "site.test/a", operator: "Equal", value: "b", effect: "NoExecute", tolerationSeconds: 0 },
      { operator: "Exists" },
      { key: "c", operator: "Exists", effect: "NoExecute", tolerationSeconds: -5 },
      { key: "d", operator: "Exists", effect: "NoExecute", tolerationSeconds: Number.MAX_SAFE_INTEGER },
    ],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                { key: "zone", operator: "In", values: ["a", "b"] },
                { key: "gone", operator: "DoesNotExist" },
              ],
              matchFields: [{ key: "metadata.name", operator: "In", values: ["board-0001"] }],
            },
          ],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 7, preference: { matchExpressions: [{ key: "kind", operator: "Gt", values: ["3"] }] } },
        ],
      },
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "zone", labelSelector: { matchLabels: { app: "web" } } },
        ],
      },
    },
    volumes: [
      { name: "data", persistentVolumeClaim: { claimName: "data-0", readOnly: true } },
      { name: "cache", emptyDir: {} },
    ],
    initContainers: [
      { name: "stays", image, restartPolicy: "Always", ports: [{ containerPort: 9000 }] },
      { name: "runs-once", image },
    ],
    containers: [
      {
        name: "main",
        image,
        env: Array.from({ length: 12 }, (_, i) => ({ name: `SETTING_${i}`, value: "v".repeat(i) })),
        ports: [
          { name: "http", containerPort: 8080, hostPort: 8080, protocol: "TCP", hostIP: "10.0.0.1" },
          { containerPort: 53, hostPort: 53, protocol: "UDP" },
        ],
        resources: { limits: { cpu: "100m", memory: "64Mi" } },
      },
      { name: "side", image },
    ],
  },
};

/** A pod that may not be scheduled yet; a bound pod has no such gates. */
export const gatedPod = {
  metadata: { name: "gated" },
  spec: { schedulingGates: [{ name: "site.test/wait" }], containers: [{ name: "main", image }] },
};

export const fullPodStatus = {
  phase: "Running",
  reason: "Whatever",
  message: "told",
  podIP: "10.1.0.7",
  podIPs: [{ ip: "10.1.0.7" }, { ip: "fd00::7" }],
  hostIP: "10.0.0.1",
  startTime: "2026-01-02T03:04:05Z",
  conditions: [
    {
      type: "Ready",
      status: "False",
      lastProbeTime: null,
      lastTransitionTime: "2026-01-02T03:04:05Z",
      reason: "ContainersNotReady",
      message: "not yet: größer als 1",
      observedGeneration: 1,
    },
    {
      type: "PodScheduled",
      status: "True",
      lastProbeTime: "2026-01-02T03:04:06Z",
      lastTransitionTime: "1970-01-01T00:00:00Z",
    },
  ],
};
