import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { parseObject } from "../../../agent/api/parse.ts";
import {
  controllerRevisions,
  daemonSets,
  endpointSlices,
  endpoints,
  pods,
  type Resource,
  services,
} from "../../../agent/api/resources.ts";

const metadata = { name: "web", namespace: "default", uid: "u1", resourceVersion: "7" };

function parsed<T extends KubeObject>(resource: Resource<T>, object: object): T | string {
  const answer = parseObject({ ...structuredClone(object), metadata: { ...metadata } }, resource);
  return answer.ok ? answer.object : answer.why;
}

const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "nginx" }] } };
const selector = { matchLabels: { app: "web" } };

describe("an object is refused if using only part of it would change its meaning", () => {
  test.each<[string, Resource<KubeObject>, object, string]>([
    ["a set without a spec", daemonSets, {}, "has no spec"],
    ["a set without a selector", daemonSets, { spec: { template } }, "spec.selector is not a label selector"],
    [
      "a selector with half an expression",
      daemonSets,
      { spec: { selector: { matchExpressions: [{ key: "a" }] }, template } },
      "spec.selector is not a label selector",
    ],
    ["a set without a template", daemonSets, { spec: { selector } }, "has no spec.template"],
    [
      "a template with an invalid nodeSelector",
      daemonSets,
      { spec: { selector, template: { ...template, spec: { ...template.spec, nodeSelector: { disk: 5 } } } } },
      "spec.template.spec.nodeSelector is not a map of strings",
    ],
    [
      "a template with a broken affinity",
      daemonSets,
      { spec: { selector, template: { ...template, spec: { affinity: { nodeAffinity: [] } } } } },
      "spec.template.spec.affinity is not an affinity",
    ],
    ["a revision without a number", controllerRevisions, { data: {} }, "revision is not a number"],
    ["a service without a spec", services, {}, "has no spec"],
    ["a selector of numbers", services, { spec: { selector: { app: 5 } } }, "spec.selector is not a map of strings"],
    ["ports that are not a list", services, { spec: { ports: ["80"] } }, "spec.ports is not a list of ports"],
    ["a slice without an address type", endpointSlices, { endpoints: [] }, "has no addressType"],
    [
      "a pod with half a toleration",
      pods,
      { spec: { tolerations: [{ key: 5 }] } },
      "spec.tolerations is not a list of tolerations",
    ],
    [
      "a pod with a broken selector",
      pods,
      { spec: { nodeSelector: ["a"] } },
      "spec.nodeSelector is not a map of strings",
    ],
  ])("%s", (_, resource, object, why) => {
    expect(parsed(resource, object)).toContain(why);
  });
});

describe("fields that are not needed are left out", () => {
  test.each<[string, Resource<KubeObject>, object, object]>([
    [
      "of a set",
      daemonSets,
      {
        spec: { selector, template, minReadySeconds: "5", updateStrategy: { rollingUpdate: { maxSurge: [] } } },
        status: { numberReady: "1", conditions: [5] },
      },
      { spec: { selector, template, updateStrategy: { rollingUpdate: {} } }, status: { conditions: [] } },
    ],
    [
      "of a service",
      services,
      { spec: { type: 5, ipFamilies: ["IPv4", 6], clusterIPs: "10.0.0.1", ports: [{ port: 80, targetPort: {} }] } },
      { spec: { ipFamilies: ["IPv4"], ports: [{ port: 80 }] } },
    ],
    [
      "of endpoints",
      endpoints,
      { subsets: [5, { addresses: [{ ip: "10.0.0.1", hostname: 5 }, {}], ports: null }] },
      { subsets: [{ addresses: [{ ip: "10.0.0.1" }] }] },
    ],
    [
      "of a slice",
      endpointSlices,
      {
        addressType: "IPv4",
        endpoints: [{}, { addresses: ["10.0.0.1"], conditions: { ready: "yes" } }],
        ports: [{ port: "80" }],
      },
      { addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], conditions: {} }], ports: [{}] },
    ],
    [
      "of a pod",
      pods,
      {
        spec: {
          containers: [{}, { name: "a", ports: [{ name: "http" }], resources: { requests: { cpu: 1, memory: [] } } }],
        },
        status: { podIPs: [{}] },
      },
      {
        spec: { containers: [{ name: "a", ports: [], resources: { requests: { cpu: "1" } } }] },
        status: { podIPs: [] },
      },
    ],
  ])("%s", (_, resource, object, kept) => {
    expect(parsed(resource, object)).toMatchObject(kept);
    expect(JSON.parse(JSON.stringify(parsed(resource, object)))).toEqual(expect.objectContaining(kept));
  });
});

test("an affinity with an empty value, or with terms of every kind, is accepted because the API permits it", () => {
  const terms = [
    { matchExpressions: [{ key: "a", operator: "In", values: [""] }] },
    { matchFields: [{ key: "metadata.name", operator: "In", values: ["pi-1"] }] },
    {},
  ];
  const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } };
  expect(parsed(pods, { spec: { affinity } })).toMatchObject({ spec: { affinity } });
});
