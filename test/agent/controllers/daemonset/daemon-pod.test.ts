import { expect, test } from "vitest";
import { byAge, daemonPods, isUpdated, targetOf } from "../../../../agent/controllers/daemonset/daemon-pod.ts";
import { daemonTolerations } from "../../../../agent/controllers/daemonset/tolerations.ts";
import { podOf, set } from "./support/daemon-site.ts";

const forGood = (key: string, effect: string) => ({ key: `node.kubernetes.io/${key}`, operator: "Exists", effect });
const always = [
  forGood("not-ready", "NoExecute"),
  forGood("unreachable", "NoExecute"),
  forGood("disk-pressure", "NoSchedule"),
  forGood("memory-pressure", "NoSchedule"),
  forGood("pid-pressure", "NoSchedule"),
  forGood("unschedulable", "NoSchedule"),
];

test("a pod is made from the template, pinned to its board, with the daemon tolerations", () => {
  const preferred = [{ weight: 1, preference: { matchExpressions: [{ key: "fast", operator: "Exists" }] } }];
  const required = { nodeSelectorTerms: [{ matchExpressions: [{ key: "room", operator: "In", values: ["a", "b"] }] }] };
  const owner = set({
    annotations: { "deprecated.daemonset.template.generation": "7" },
    template: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: required,
          preferredDuringSchedulingIgnoredDuringExecution: preferred,
        },
        podAntiAffinity: {},
      },
    },
  });
  expect(daemonPods(owner, "abc")("n1")).toEqual({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: "agent-",
      namespace: "default",
      labels: { app: "agent", "pod-template-generation": "7", "controller-revision-hash": "abc" },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "DaemonSet",
          name: "agent",
          uid: "uid-agent",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: {
      containers: [{ name: "main", image: "agent:1" }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }],
          },
          preferredDuringSchedulingIgnoredDuringExecution: preferred,
        },
        podAntiAffinity: {},
      },
      tolerations: always,
    },
  });
});

test.each<[string, object | undefined]>([
  ["text that is not a number", { "deprecated.daemonset.template.generation": "seven" }],
  ["a number that is too long for a label", { "deprecated.daemonset.template.generation": "9".repeat(30) }],
  ["nothing", undefined],
])("an annotation with %s adds no label", (_, annotations) => {
  const labels = daemonPods(set(annotations ? { annotations: { ...annotations } } : {}), "abc")("n1").metadata.labels;
  expect(labels).not.toHaveProperty("pod-template-generation");
});

test("annotations and finalizers of the template are copied", () => {
  const owner = set();
  const metadata = { labels: { app: "agent" }, annotations: { a: "b" }, finalizers: ["example.com/f"] };
  const spec = owner.spec && { ...owner.spec, template: { ...owner.spec.template, metadata } };
  expect(daemonPods({ ...owner, ...(spec && { spec }) }, "abc")("n1").metadata).toMatchObject({
    annotations: { a: "b" },
    finalizers: ["example.com/f"],
  });
});

test("a toleration of a minute is replaced by one without a limit, in its place; others are kept", () => {
  const mine = { key: "mine", operator: "Exists" };
  const minute = { ...forGood("unreachable", "NoExecute"), tolerationSeconds: 60 };
  const [notReady, unreachable, ...rest] = always;
  expect(daemonTolerations({ containers: [], tolerations: [minute, mine] })).toEqual([
    unreachable,
    mine,
    notReady,
    ...rest,
  ]);
});

test("with host networking a daemon pod tolerates an unavailable pod network", () => {
  const added = daemonTolerations({ containers: [], hostNetwork: true });
  expect(added).toEqual([...always, forGood("network-unavailable", "NoSchedule")]);
});

test("the board of a pod is the one it runs on, otherwise the one it is pinned to, otherwise unknown", () => {
  const pod = podOf(set(), "n1");
  expect(targetOf(pod)).toBe("n1");
  expect(
    targetOf({
      ...pod,
      spec: { containers: [], nodeName: "n2", ...(pod.spec?.affinity && { affinity: pod.spec.affinity }) },
    }),
  ).toBe("n2");
  const { nodeName: _, ...unbound } = pod.spec ?? { containers: [] };
  expect(targetOf({ ...pod, spec: unbound })).toBe("n1");
  expect(targetOf({ ...pod, spec: { containers: [] } })).toBeUndefined();
});

test("a pod belongs to the current template by its hash, or by the generation of old API versions", () => {
  const owner = set({ annotations: { "deprecated.daemonset.template.generation": "7" } });
  const labelled = (labels: Readonly<Record<string, string>>) => podOf(owner, "n1", { labels });
  expect(isUpdated(owner, labelled({ "controller-revision-hash": "abc" }), "abc")).toBe(true);
  expect(isUpdated(owner, labelled({ "controller-revision-hash": "abd" }), "abc")).toBe(false);
  expect(isUpdated(owner, labelled({ "pod-template-generation": "7" }), "abc")).toBe(true);
  expect(isUpdated(owner, labelled({ "pod-template-generation": "8" }), "abc")).toBe(false);
  expect(isUpdated(set(), labelled({}), "abc")).toBe(false);
});

test("bound pods come first, then older pods, then the order of names", () => {
  const owner = set();
  const at = (name: string, creationTimestamp: string) => podOf(owner, "n1", { name, creationTimestamp });
  const { nodeName: _, ...unbound } = at("u", "2020-01-01T00:00:00Z").spec ?? { containers: [] };
  const found = [
    at("young", "2026-01-02T00:00:00Z"),
    { ...at("unbound", "2020-01-01T00:00:00Z"), spec: unbound },
    at("b", "2026-01-01T00:00:00Z"),
    at("a", "2026-01-01T00:00:00Z"),
  ];
  expect(found.toSorted(byAge).map(({ metadata }) => metadata.name)).toEqual(["a", "b", "young", "unbound"]);
});

test("the pods of all boards share the template's large fields", () => {
  const tolerations = Array.from({ length: 68_000 }, (_, i) => ({ key: `k${i}`, operator: "Exists" }));
  const podFor = daemonPods(set({ template: { tolerations } }), "abc");
  const [one, other] = [podFor("n1"), podFor("n2")] as { metadata: object; spec?: { tolerations: object[] } }[];
  expect(one?.spec?.tolerations).toHaveLength(68_006);
  expect(other?.spec?.tolerations).toBe(one?.spec?.tolerations);
  expect(other?.metadata).toBe(one?.metadata);
});
