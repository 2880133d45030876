import { expect, test } from "vitest";
import type { Pod } from "../../../agent/api/core.ts";
import { barePod } from "../../../agent/controllers/bare-pod.ts";

const ports = Array.from({ length: 5000 }, (_, i) => ({ name: `p${i}`, containerPort: i + 1, protocol: "TCP" }));
const large: Pod = {
  metadata: {
    name: "a",
    namespace: "default",
    uid: "uid-a",
    resourceVersion: "7",
    deletionTimestamp: "2026-01-01T00:00:00Z",
    labels: Object.fromEntries(Array.from({ length: 128 }, (_, i) => [`l${i}`, "x"])),
  },
  spec: {
    nodeName: "n1",
    hostname: "h",
    subdomain: "web",
    tolerations: Array.from({ length: 5000 }, (_, i) => ({ key: `k${i}`, operator: "Exists" })),
    containers: [{ name: "main", ports }],
    initContainers: [{ name: "side", restartPolicy: "Always", ports: [{ name: "side", containerPort: 9 }] }],
  },
  status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
};

test("a large pod is reduced to its identity, board, status and named ports", () => {
  const bare = barePod(large, new Set(["p7", "side"]));
  const { labels: _, ...metadata } = large.metadata;
  expect(bare).toEqual({
    metadata,
    spec: {
      nodeName: "n1",
      hostname: "h",
      subdomain: "web",
      containers: [{ name: "main", ports: [ports[7]] }],
      initContainers: [{ name: "side", restartPolicy: "Always", ports: [{ name: "side", containerPort: 9 }] }],
    },
    status: large.status,
  });
});

test("ports without a name are not kept", () => {
  expect(barePod(large).spec).toEqual({ nodeName: "n1", hostname: "h", subdomain: "web", containers: [] });
});
