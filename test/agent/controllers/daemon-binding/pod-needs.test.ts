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

describe("CPU, in thousandths", () => {
  test.each<[string, Partial<Spec>, number]>([
    ["nothing is asked for", { containers: [container(undefined)] }, 0],
    ["containers side by side", { containers: [container("100m"), container("0.2")] }, 300],
    [
      "an init container that needs less comes and goes",
      { containers: [container("100m")], initContainers: [container("50m")] },
      100,
    ],
    [
      "one that needs more has to fit as well",
      { containers: [container("100m")], initContainers: [container("1")] },
      1000,
    ],
    [
      "one that stays is there besides the others",
      { containers: [container("100m")], initContainers: [container("50m", { restartPolicy: "Always" })] },
      150,
    ],
    [
      "one that starts behind one that stays needs both",
      {
        containers: [container("10m")],
        initContainers: [container("50m", { restartPolicy: "Always" }), container("200m")],
      },
      250,
    ],
    [
      "one that starts before it needs its own only",
      {
        containers: [container("10m")],
        initContainers: [container("200m"), container("50m", { restartPolicy: "Always" })],
      },
      200,
    ],
    [
      "requests of the pod as a whole count",
      { containers: [container("10m")], resources: { requests: { cpu: "500m" } } },
      500,
    ],
    ["the overhead comes on top", { containers: [container("10m")], overhead: { cpu: "5m" } }, 15],
    ["unparsable requests count as zero", { containers: [container("much")] }, 0],
  ])("%s", (_, spec, expected) => {
    expect(cpu(spec)).toBe(expected);
  });
});

test("host ports: those that are requested, and with host networking all of them", () => {
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
