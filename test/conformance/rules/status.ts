import { itemsAt, type JsonObject, textAt } from "../../../agent/api/json.ts";
import { at, boundPod, configMap, daemonSet, jsonPatch, node, pod, strategicPatch } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

const ready = (status: string): JsonObject => ({ type: "Ready", status });

export const statusRules: readonly Rule[] = [
  rule("status-not-by-update", "an update of an object does not change its status", async (site) => {
    const space = await site.space();
    const path = space.at("pods", "one");
    const created = await space.create("pods", { ...boundPod("one"), status: { phase: "Running", podIP: "10.9.9.9" } });
    created.shows("Pending", "status", "phase").shows(undefined, "status", "podIP");
    (await site.patch(`${path}/status`, { status: { phase: "Running" } })).is(200);
    const read = (await site.get(path)).is(200);
    const put = {
      ...read.body,
      metadata: { ...Object(read.at("metadata")), labels: { app: "web" } },
      status: { phase: "Failed" },
    };
    (await site.put(path, put)).is(200).shows("Running", "status", "phase").shows("web", "metadata", "labels", "app");
    (await site.patch(path, { status: { phase: "Failed" } })).is(200).shows("Running", "status", "phase");
    (await site.patch(path, { status: null }, strategicPatch)).is(200).shows("Running", "status", "phase");
    (await site.get(path)).shows("Running", "status", "phase");
  }),
  rule("status-by-status", "an update of the status does not change the rest", async (site) => {
    const space = await site.space();
    const path = space.at("daemonsets", "one");
    const created = await space.create("daemonsets", daemonSet("one"));
    const spec = { ...Object(created.at("spec")), minReadySeconds: 7 };
    const status = { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 3, numberReady: 0 };
    const put = (await site.put(`${path}/status`, { ...created.body, spec, status })).is(200);
    put.shows(created.at("spec"), "spec").shows(3, "status", "desiredNumberScheduled");
    const patched = (
      await site.patch(`${path}/status`, { spec: { minReadySeconds: 7 }, status: { numberReady: 1 } })
    ).is(200);
    patched
      .shows(created.at("spec"), "spec")
      .shows(1, "status", "numberReady")
      .shows(3, "status", "desiredNumberScheduled");
    (await site.get(path)).shows(created.at("spec"), "spec").shows(1, "status", "numberReady");
    (await site.get(`${path}/status`)).is(200).shows("DaemonSet", "kind").shows(1, "status", "numberReady");
  }),
  rule("status-of-boards", "writes of a board's status and of its object do not undo each other", async (site) => {
    const name = site.name();
    const path = at("nodes", undefined, name);
    await site.make("nodes", { ...node(name), metadata: { name } });
    const taints = [{ key: "conformance", value: "x", effect: "NoSchedule" }];
    (await site.patch(path, { spec: { taints } }, strategicPatch)).is(200).shows(taints, "spec", "taints");
    const status = { conditions: [ready("True")], capacity: { cpu: "4" } };
    const reported = (await site.patch(`${path}/status`, { spec: { taints: [] }, status }, strategicPatch)).is(200);
    reported
      .shows(taints, "spec", "taints")
      .same("Ready", textAt(itemsAt(reported.body, "status", "conditions")[0], "status"), "True");
    (await site.patch(path, { status: { capacity: { cpu: "9" } } })).is(200).shows("4", "status", "capacity", "cpu");
    (await site.get(path)).shows(taints, "spec", "taints").shows("4", "status", "capacity", "cpu");
  }),
  rule(
    "status-conditions",
    "a strategic-merge patch of the status changes one condition and keeps the others",
    async (site) => {
      const space = await site.space();
      const path = space.at("pods", "one", "status");
      await space.create("pods", boundPod("one"));
      const conditions = [
        { type: "Initialized", status: "True" },
        { type: "Ready", status: "True" },
        { type: "ContainersReady", status: "True" },
      ];
      (await site.patch(path, { status: { phase: "Running", conditions } }, strategicPatch)).is(200);
      const change = { status: { conditions: [{ type: "Ready", status: "False", reason: "NodeNotReady" }] } };
      const patched = (await site.patch(path, change, strategicPatch)).is(200);
      const now = Object.fromEntries(
        itemsAt(patched.body, "status", "conditions").map((one) => [
          textAt(one, "type"),
          `${textAt(one, "status")} ${textAt(one, "reason")}`.trim(),
        ]),
      );
      patched.same("conditions", now, { Initialized: "True", Ready: "False NodeNotReady", ContainersReady: "True" });
      const merged = (await site.patch(path, { status: { conditions: [{ type: "Ready", status: "True" }] } })).is(200);
      merged.same(
        "conditions after a merge patch, which replaces lists",
        itemsAt(merged.body, "status", "conditions").length,
        1,
      );
    },
  ),
  rule(
    "status-by-json-patch",
    "a JSON patch of the status addresses the whole object, but changes only the status",
    async (site) => {
      const space = await site.space();
      const path = space.at("pods", "one");
      await space.create("pods", boundPod("one"));
      const patch = [
        { op: "test", path: "/status/phase", value: "Pending" },
        { op: "replace", path: "/status/phase", value: "Running" },
        { op: "add", path: "/spec/activeDeadlineSeconds", value: 5 },
      ];
      (await site.patch(`${path}/status`, patch, jsonPatch)).is(200).shows("Running", "status", "phase");
      (await site.get(path)).shows("Running", "status", "phase").shows(undefined, "spec", "activeDeadlineSeconds");
    },
  ),
  rule(
    "status-metadata",
    "labels, annotations and finalizers may be written with the status; the name may not",
    async (site) => {
      const space = await site.space();
      const path = space.at("pods", "one", "status");
      await space.create("pods", pod("one"));
      (await site.patch(path, { metadata: { labels: { app: "web" }, annotations: { note: "x" } } })).is(200);
      (await site.get(space.at("pods", "one")))
        .shows("web", "metadata", "labels", "app")
        .shows("x", "metadata", "annotations", "note");
      (await site.patch(path, { metadata: { name: "other" } })).fails(400, "BadRequest");
    },
  ),
  rule("status-of-none", "a kind without a status subresource has none", async (site) => {
    const space = await site.space();
    await space.create("configmaps", configMap("one"));
    (await site.patch(space.at("configmaps", "one", "status"), { status: {} })).fails(404, "NotFound");
    (await site.get(space.at("configmaps", "one", "status"))).fails(404, "NotFound");
  }),
  rule(
    "generation",
    "the generation counts changes of the spec, not of status, labels or annotations",
    async (site) => {
      const space = await site.space();
      const path = space.at("daemonsets", "one");
      (await space.create("daemonsets", daemonSet("one"))).shows(1, "metadata", "generation");
      const status = { currentNumberScheduled: 1, numberMisscheduled: 0, desiredNumberScheduled: 1, numberReady: 1 };
      (await site.patch(`${path}/status`, { status })).shows(1, "metadata", "generation");
      (await site.patch(path, { metadata: { labels: { app: "web" }, annotations: { note: "x" } } })).shows(
        1,
        "metadata",
        "generation",
      );
      (await site.patch(path, { spec: { minReadySeconds: 3 } })).shows(2, "metadata", "generation");
      (await site.patch(path, { spec: { minReadySeconds: 3 } })).shows(2, "metadata", "generation");
      (await site.patch(path, { metadata: { generation: 40 } })).shows(2, "metadata", "generation");
      (await site.patch(path, { spec: { template: { spec: { hostNetwork: true } } } })).shows(
        3,
        "metadata",
        "generation",
      );
      const other = { ...daemonSet("two"), metadata: { name: "two", generation: 40 } };
      (await space.create("daemonsets", other)).shows(1, "metadata", "generation");
    },
  ),
];
