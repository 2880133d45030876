import { describe, expect, test } from "vitest";
import type { Pod } from "../../../../agent/api/core.ts";
import { needsOf } from "../../../../agent/controllers/daemon-binding/pod-needs.ts";
import { pod } from "../../../support/builders.ts";

type Spec = NonNullable<Pod["spec"]>;

const container = (cpu: string | undefined, more: object = {}) => ({
  name: "c",
  ...(cpu !== undefined && { resources: { requests: { cpu } } }),
  ...more,
});
const withSpec = (spec: Partial<Spec>): Pod => ({ ...pod("p"), spec: { containers: [], ...spec } });
const cpu = (spec: Partial<Spec>): number => Number(needsOf(withSpec(spec)).resources.get("cpu") ?? 0n) / 1e6;

describe("the CPU that a pod needs, in thousandths", () => {
  test.each<[string, Partial<Spec>, number]>([
    ["is nothing if nothing is requested", { containers: [container(undefined)] }, 0],
    ["is the sum over its containers", { containers: [container("100m"), container("0.2")] }, 300],
    [
      "does not grow by an init container that needs less",
      { containers: [container("100m")], initContainers: [container("50m")] },
      100,
    ],
    [
      "is that of an init container that needs more",
      { containers: [container("100m")], initContainers: [container("1")] },
      1000,
    ],
    [
      "includes a sidecar",
      { containers: [container("100m")], initContainers: [container("50m", { restartPolicy: "Always" })] },
      150,
    ],
    [
      "includes a sidecar while a later init container runs",
      {
        containers: [container("10m")],
        initContainers: [container("50m", { restartPolicy: "Always" }), container("200m")],
      },
      250,
    ],
    [
      "excludes a sidecar while an earlier init container runs",
      {
        containers: [container("10m")],
        initContainers: [container("200m"), container("50m", { restartPolicy: "Always" })],
      },
      200,
    ],
    [
      "is the request of the pod as a whole if it has one",
      { containers: [container("10m")], resources: { requests: { cpu: "500m" } } },
      500,
    ],
    ["includes the overhead", { containers: [container("10m")], overhead: { cpu: "5m" } }, 15],
    ["counts unparsable requests as zero", { containers: [container("much")] }, 0],
  ])("%s", (_, spec, expected) => {
    expect(cpu(spec)).toBe(expected);
  });
});

test("a pod needs the host ports that it requests, and with host networking all of its ports", () => {
  const ports = [{ containerPort: 80 }, { containerPort: 90, hostPort: 9090, hostIP: "10.0.0.1", protocol: "UDP" }];
  const staying = container(undefined, { restartPolicy: "Always", ports: [{ containerPort: 70, hostPort: 70 }] });
  const passing = container(undefined, { ports: [{ containerPort: 60, hostPort: 60 }] });
  const spec = { containers: [container(undefined, { ports })], initContainers: [staying, passing] };
  const udp = { address: "10.0.0.1", protocol: "UDP", port: 9090 };
  const stays = { address: "0.0.0.0", protocol: "TCP", port: 70 };
  expect(needsOf(withSpec(spec)).ports).toEqual([udp, stays]);
  expect(needsOf(withSpec({ ...spec, hostNetwork: true })).ports).toEqual([
    { address: "0.0.0.0", protocol: "TCP", port: 80 },
    udp,
    stays,
  ]);
});
