import { expect, test } from "vitest";
import type { Pod } from "../../../../agent/api/core.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { planOf } from "../../../../agent/controllers/endpoint-slice/plan.ts";
import { subsetsOf } from "../../../../agent/controllers/endpoints/subsets.ts";
import { service, webPod } from "../service/objects.ts";

const podsOf = (count: number): readonly Pod[] =>
  Array.from({ length: count }, (_, i) => webPod(`web-${i}`, { ip: `10.0.${i >> 8}.${i & 255}` }));

const uidsOf = (pods: readonly Pod[]): ReadonlySet<string> => new Set(pods.map(({ metadata }) => metadata.uid));

/** A service that counts how often one of its ports is read. */
function counted(ports: number) {
  const reads = { count: 0 };
  const many = Array.from({ length: ports }, (_, i) => ({
    name: `p${i}`,
    get port() {
      reads.count++;
      return i + 1;
    },
  }));
  // A name that no pod has: it asks of each pod.
  const list = [{ name: "named", port: 65_000, targetPort: "unheard-of" }, ...many];
  return { reads, web: service({ ports: list }) };
}

test("the subsets of a service with many ports that selects hundreds of pods are computed once, not for each pod", () => {
  const pods = podsOf(300);
  const { reads, web } = counted(200);
  const subsets = atOnce(subsetsOf(web, pods, uidsOf(pods)));
  expect(subsets.map(({ addresses, ports }) => [addresses?.length, ports?.length])).toEqual([[300, 200]]);
  expect(reads.count).toBeLessThanOrEqual(200);
});

test("the slices of such a service are also computed only once", () => {
  const pods = podsOf(300);
  const { reads, web } = counted(200);
  const owner = { apiVersion: "v1", kind: "Service", name: "web", uid: "uid-web" };
  const zones = new Map([["pi-1", undefined]]);
  const wanted = { service: web, owner, pods, ready: uidsOf(pods), zones, shares: "not asked", slices: [] } as const;
  const { plan } = atOnce(planOf({ ...wanted, most: 100 }));
  expect(plan.create.map(({ endpoints, ports }) => [endpoints.length, ports.length])).toEqual(
    Array(3).fill([100, 200]),
  );
  expect(reads.count).toBeLessThanOrEqual(200);
});

test("pods that map one port name to different ports share the ports that they have in common", () => {
  const leading = (pod: Pod, containerPort: number | undefined): Pod => ({
    ...pod,
    spec: {
      ...pod.spec,
      containers: [{ name: "a", ...(containerPort && { ports: [{ name: "web", containerPort }] }) }],
    },
  });
  const [a, b, c, d] = podsOf(4) as [Pod, Pod, Pod, Pod];
  const pods = [leading(a, 1), leading(b, 2), leading(c, 1), leading(d, undefined)];
  const ports = [
    { name: "web", port: 80, targetPort: "web" },
    { name: "all", port: 9, targetPort: 9 },
  ];
  const subsets = atOnce(subsetsOf(service({ ports }), pods, uidsOf([a, b, d])));
  const rows = subsets.map(({ addresses = [], notReadyAddresses = [], ports = [] }) =>
    [addresses, notReadyAddresses, ports].map((list) => list.map((one) => ("ip" in one ? one.ip : one.port)).join()),
  );
  expect(rows.sort()).toEqual([
    ["10.0.0.0,10.0.0.1,10.0.0.3", "10.0.0.2", "9"],
    ["10.0.0.0", "10.0.0.2", "1"],
    ["10.0.0.1", "", "2"],
  ]);
});
