import { describe, expect, test } from "vitest";
import { itemsAt, type JsonObject, numberAt, valueAt } from "../../../../agent/api/json.ts";
import { type Answer, merge, TestSite, table } from "../site.ts";

const services = "/api/v1/namespaces/default/services";

const service = (name: string, spec: JsonObject): JsonObject => ({
  kind: "Service",
  apiVersion: "v1",
  metadata: { name },
  spec,
});

const nodePortsOf = (object: JsonObject): (number | undefined)[] =>
  itemsAt(object, "spec", "ports").map((port) => numberAt(port, "nodePort"));

const causesOf = ({ status, body }: Answer): unknown => [status, valueAt(body, "details", "causes")];

const patched = async (site: TestSite, name: string, spec: JsonObject): Promise<Answer> =>
  site.ask("PATCH", `${services}/${name}`, { spec }, { type: merge });

describe("a service", () => {
  test.each(["NodePort", "LoadBalancer"])("of type %s gets a node port for each of its ports", async (type) => {
    await using site = new TestSite();
    const ports = [
      { name: "a", port: 80 },
      { name: "b", port: 81 },
    ];
    const created = await site.create(services, service("s", { type, ports }));
    const [a = 0, b = 0] = nodePortsOf(created);
    for (const port of [a, b]) expect(port >= 30_000 && port <= 32_767).toBe(true);
    expect(a).not.toBe(b);
    expect(valueAt(created, "spec", "externalTrafficPolicy")).toBe("Cluster");
    const shown = (await site.get(services, table)).body;
    expect(itemsAt(shown, "rows").map((row) => itemsAt(row, "cells")[4])).toEqual([`80:${a}/TCP,81:${b}/TCP`]);
  });

  test("gets ports other than those of services created before and after it", async () => {
    await using site = new TestSite();
    const all: unknown[] = [];
    for (let i = 0; i < 20; i++) {
      const made = await site.create(services, service(`s${i}`, { type: "NodePort", ports: [{ port: 80 }] }));
      all.push(...nodePortsOf(made));
    }
    expect(new Set(all).size).toBe(20);
  });

  test("keeps its ports when it is changed or replaced, by their names", async () => {
    await using site = new TestSite();
    const web = { name: "web", port: 80 };
    const created = await site.create(services, service("s", { type: "NodePort", ports: [web] }));
    const [own] = nodePortsOf(created);
    const more = { type: "NodePort", ports: [{ name: "new", port: 82 }, web] };
    const { body } = await site.ask("PUT", `${services}/s`, service("s", more));
    expect(nodePortsOf(body)).toEqual([expect.any(Number), own]);
    expect(nodePortsOf(body)[0]).not.toBe(own);
    const balanced = await patched(site, "s", { type: "LoadBalancer" });
    expect(nodePortsOf(balanced.body)).toEqual(nodePortsOf(body));
  });

  test("gives one port to two protocols, and keeps requested ports", async () => {
    await using site = new TestSite();
    const dns = [
      { name: "t", port: 53, protocol: "TCP" },
      { name: "u", port: 53, protocol: "UDP" },
    ];
    const [t, u] = nodePortsOf(await site.create(services, service("dns", { type: "NodePort", ports: dns })));
    expect([t, u]).toEqual([expect.any(Number), t]);
    const asked = { type: "NodePort", ports: [{ port: 80, nodePort: 30_080 }] };
    expect(nodePortsOf(await site.create(services, service("asked", asked)))).toEqual([30_080]);
  });

  test("loses its ports with its type, and its address for an external name", async () => {
    await using site = new TestSite();
    await site.create(services, service("s", { type: "NodePort", ports: [{ port: 80 }] }));
    const inner = (await patched(site, "s", { type: "ClusterIP" })).body;
    expect(nodePortsOf(inner)).toEqual([undefined]);
    expect(valueAt(inner, "spec", "externalTrafficPolicy")).toBeUndefined();
    const named = (await patched(site, "s", { type: "ExternalName", externalName: "a.b" })).body;
    expect(valueAt(named, "spec", "clusterIP")).toBeUndefined();
    const back = (await patched(site, "s", { type: "NodePort" })).body;
    expect(valueAt(back, "spec", "clusterIP")).toMatch(/^10\.96\./);
    expect(nodePortsOf(back)).toEqual([expect.any(Number)]);
  });

  test("that requests no port gets none", async () => {
    await using site = new TestSite();
    const spec = { type: "LoadBalancer", allocateLoadBalancerNodePorts: false, ports: [{ port: 80 }] };
    expect(nodePortsOf(await site.create(services, service("s", spec)))).toEqual([undefined]);
    const { body } = await patched(site, "s", { allocateLoadBalancerNodePorts: null });
    expect(nodePortsOf(body)).toEqual([expect.any(Number)]);
  });
});

describe("a service is refused", () => {
  const ports = [{ port: 80 }];
  const [one, two] = [
    { name: "a", port: 80 },
    { name: "b", port: 81 },
  ];
  const range = "provided port is not in the valid range. The range of valid ports is 30000-32767";
  const network = "the provided network does not match the current range";
  test.each([
    [
      { type: "Sometimes", ports },
      "spec.type",
      'Unsupported value: "Sometimes": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
    [{ ports: [{ port: 80 }, two] }, "spec.ports[0].name", "Required value"],
    [{ ports: [one, { ...two, name: "a" }] }, "spec.ports[1].name", 'Duplicate value: "a"'],
    [
      { ports: [{ port: 80, protocol: "ICMP" }] },
      "spec.ports[0].protocol",
      'Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
    ],
    [
      { ports: [{ port: 80, targetPort: 70_000 }] },
      "spec.ports[0].targetPort",
      "Invalid value: 70000: must be between 1 and 65535, inclusive",
    ],
    [{ selector: { a: "b" } }, "spec.ports", "Required value"],
    [{ type: "ExternalName" }, "spec.externalName", "Required value"],
    [
      { type: "ExternalName", externalName: "a.b", clusterIP: "10.96.0.9" },
      "spec.clusterIPs",
      "Forbidden: may not be set for ExternalName services",
    ],
    [
      { clusterIP: "10.95.255.255", ports },
      "spec.clusterIPs",
      `Invalid value: ["10.95.255.255"]: failed to allocate IP 10.95.255.255: ${network}`,
    ],
    [
      { clusterIP: "10.112.0.0", ports },
      "spec.clusterIPs",
      `Invalid value: ["10.112.0.0"]: failed to allocate IP 10.112.0.0: ${network}`,
    ],
    [
      { clusterIP: "nonsense", ports },
      "spec.clusterIPs[0]",
      'Invalid value: "nonsense": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      { clusterIP: "None", type: "NodePort", ports },
      "spec.clusterIPs[0]",
      `Invalid value: "None": may not be set to 'None' for NodePort services`,
    ],
    [
      { type: "NodePort", ports: [{ port: 80, nodePort: 29_999 }] },
      "spec.ports[0].nodePort",
      `Invalid value: 29999: ${range}`,
    ],
    [
      { type: "NodePort", ports: [{ port: 80, nodePort: 32_768 }] },
      "spec.ports[0].nodePort",
      `Invalid value: 32768: ${range}`,
    ],
    [
      {
        type: "NodePort",
        ports: [
          { ...one, nodePort: 30_081 },
          { ...two, nodePort: 30_081 },
        ],
      },
      "spec.ports[1].nodePort",
      "Invalid value: 30081: provided port is already allocated",
    ],
    [
      { ports: [{ port: 80, nodePort: 30_099 }] },
      "spec.ports[0].nodePort",
      "Forbidden: may not be used when `type` is 'ClusterIP'",
    ],
    [
      { sessionAffinity: "Maybe", ports },
      "spec.sessionAffinity",
      'Unsupported value: "Maybe": supported values: "ClientIP", "None"',
    ],
  ])("with %j", async (spec, field, message) => {
    await using site = new TestSite();
    const answer = await site.ask("POST", services, service("s", spec));
    expect(causesOf(answer)).toEqual([422, [expect.objectContaining({ field, message })]]);
  });

  test("beyond the allowed bounds, but not at them", async () => {
    await using site = new TestSite();
    for (const clusterIP of ["10.96.0.0", "10.111.255.255"]) {
      expect((await site.ask("POST", services, service("x", { clusterIP, ports }))).status).toBe(422);
    }
    await site.create(services, service("a", { clusterIP: "10.96.0.1", ports }));
    await site.create(services, service("b", { clusterIP: "10.111.255.254", ports }));
    await site.create(services, service("c", { clusterIP: "None" }));
    for (const nodePort of [30_000, 32_767]) {
      await site.create(services, service(`p${nodePort}`, { type: "NodePort", ports: [{ port: 80, nodePort }] }));
    }
  });
});
