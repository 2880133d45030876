import { itemsAt, type JsonObject, textAt, valueAt } from "../../../agent/api/json.ts";
import { at, boundPod, node, nowhere, pod, strategicPatch } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";
import { same } from "../unmet.ts";

/** Validation of boards and pods: decisions about them read only valid values. */
export const checkedRules: readonly Rule[] = [
  rule("taints-checked", "a board's taints are well-formed and unique", async (site) => {
    const name = site.name();
    const path = at("nodes", undefined, name);
    await site.make("nodes", { ...node(name), metadata: { name } });
    const fine = [
      { key: "a", effect: "NoSchedule" },
      { key: "a", value: "x", effect: "NoExecute", timeAdded: "2026-01-02T03:04:05Z" },
    ];
    for (const taints of [
      [...fine, { key: "a", value: "y", effect: "NoExecute" }],
      [{ key: "a", effect: "Explode" }],
      [{ key: "a" }],
      [{ effect: "NoExecute" }],
      [{ key: "not valid", effect: "NoExecute" }],
      [{ key: "a", value: "not valid", effect: "NoExecute" }],
    ]) {
      (await site.patch(path, { spec: { taints } })).fails(422, "Invalid");
    }
    (await site.patch(path, { spec: { taints: fine } })).is(200).shows(fine, "spec", "taints");
  }),
  rule("tolerations-checked", "a pod's tolerations are valid: seconds apply only to NoExecute", async (site) => {
    const space = await site.space();
    for (const toleration of [
      { key: "a", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 5 },
      { key: "a", operator: "Unless", effect: "NoExecute" },
      { key: "a", operator: "Exists", value: "x" },
      { key: "a", operator: "Exists", effect: "Explode" },
      { operator: "Equal", value: "x" },
    ]) {
      (await site.post(space.at("pods"), boundPod("one", { tolerations: [toleration] }))).fails(422, "Invalid");
    }
    const fine = [
      { key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 },
      { key: "b", value: "x" },
      { operator: "Exists" },
    ];
    const kept = itemsAt(
      (await space.create("pods", boundPod("one", { tolerations: fine }))).body,
      "spec",
      "tolerations",
    );
    const request = `POST ${space.at("pods")}`;
    same(
      request,
      "the pod's own tolerations",
      kept.slice(0, 3).map((one) => textAt(one, "key")),
      ["a", "b", ""],
    );
    same(request, "seconds of the first", valueAt(kept[0], "tolerationSeconds"), 0);
  }),
  rule("tolerations-by-default", "a pod tolerates a silent board for five minutes by default", async (site) => {
    const space = await site.space();
    const keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    const usual = itemsAt((await space.create("pods", boundPod("usual"))).body, "spec", "tolerations");
    const expected = keys.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }));
    same(`POST ${space.at("pods")}`, "tolerations", usual, expected);
    const own = { key: keys[1] ?? "", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
    const created = await space.create("pods", boundPod("own", { tolerations: [own] }));
    created.shows([own, ...expected.slice(0, 1)], "spec", "tolerations");
  }),
  rule(
    "pod-frozen",
    "only images and added tolerations of an existing pod may change, and never its board",
    async (site) => {
      const space = await site.space();
      const path = space.at("pods", "one");
      await space.create("pods", boundPod("one", { tolerations: [{ key: "a", operator: "Exists" }] }));
      for (const spec of [
        { nodeName: "other" },
        { nodeName: null },
        { restartPolicy: "Never" },
        { tolerations: null },
      ]) {
        (await site.patch(path, { spec })).fails(422, "Invalid");
      }
      const image = { containers: [{ name: "main", image: "busybox:2" }] };
      (await site.patch(path, { spec: image }, strategicPatch)).is(200).shows(nowhere, "spec", "nodeName");
    },
  ),
  rule("pod-bound-once", "a pod is bound to one board, once", async (site) => {
    const space = await site.space();
    const { uid } = await space.create("pods", pod("one"));
    const bind = (name: string, metadata: JsonObject) =>
      site.post(space.at("pods", "one", "binding"), {
        kind: "Binding",
        apiVersion: "v1",
        metadata,
        target: { kind: "Node", name },
      });
    (await bind("pi-1", { name: "other" })).fails(400, "BadRequest");
    (await bind("pi-1", { name: "one", uid: "another" })).fails(409, "Conflict");
    (await bind("pi-1", { name: "one", uid })).is(201);
    (await bind("pi-2", { name: "one", uid })).fails(409, "Conflict");
    (await site.get(space.at("pods", "one"))).shows("pi-1", "spec", "nodeName");
  }),
];
