import { applyPatch, at, boundPod, configMap, daemonSet, jsonPatch, mergePatch, node } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

export const patchRules: readonly Rule[] = [
  rule(
    "merge-patch",
    "a merge patch sets its members, removes those that are null, and keeps the rest",
    async (site) => {
      const space = await site.space();
      const path = space.at("configmaps", "one");
      const metadata = { labels: { a: "1", b: "2" }, annotations: { note: "x" } };
      await space.create("configmaps", configMap("one", { a: "1", b: "2", c: "3" }, metadata));
      const patch = {
        data: { a: "9", b: null, d: "4", gone: null },
        metadata: { labels: { b: null }, annotations: null },
      };
      const patched = (await site.patch(path, patch)).is(200);
      patched.shows({ a: "9", c: "3", d: "4" }, "data").shows({ a: "1" }, "metadata", "labels");
      patched.shows(undefined, "metadata", "annotations");
      (await site.get(path)).same("the object", (await site.get(path)).body, patched.body);
      (await site.patch(path, { data: null })).is(200).shows(undefined, "data");
    },
  ),
  rule("merge-patch-lists", "a merge patch replaces a list as a whole", async (site) => {
    const name = site.name();
    const path = at("nodes", undefined, name);
    await site.make("nodes", { ...node(name), metadata: { name } });
    const taint = (key: string) => ({ key, effect: "NoSchedule" });
    (await site.patch(path, { spec: { taints: [taint("a"), taint("b")] } })).is(200);
    (await site.patch(path, { spec: { taints: [taint("c")] } })).is(200).shows([taint("c")], "spec", "taints");
  }),
  rule("json-patch", "a JSON patch applies its operations in order", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    await space.create("configmaps", configMap("one", { a: "1" }, { annotations: { "siteward.test/note": "x" } }));
    const patch = [
      { op: "add", path: "/data/new", value: "3" },
      { op: "replace", path: "/data/a", value: "9" },
      { op: "test", path: "/data/a", value: "9" },
      { op: "copy", from: "/data/a", path: "/data/copied" },
      { op: "move", from: "/data/new", path: "/data/moved" },
      { op: "add", path: "/data/gone", value: "5" },
      { op: "remove", path: "/data/gone" },
      { op: "replace", path: "/metadata/annotations/siteward.test~1note", value: "y" },
    ];
    const patched = (await site.patch(path, patch, jsonPatch)).is(200);
    patched.shows({ a: "9", copied: "9", moved: "3" }, "data");
    patched.shows({ "siteward.test/note": "y" }, "metadata", "annotations");
  }),
  rule(
    "json-patch-test",
    "a JSON patch whose test fails is refused with 422 and changes nothing: fenced writes rely on it",
    async (site) => {
      const space = await site.space();
      const path = space.at("configmaps", "one");
      const created = await space.create("configmaps", configMap("one", { a: "1" }));
      const attempt = async (test: object): Promise<void> => {
        const patch = [
          { op: "replace", path: "/data/a", value: "9" },
          { op: "test", ...test },
          { op: "add", path: "/data/b", value: "2" },
        ];
        (await site.patch(path, JSON.stringify(patch), jsonPatch)).fails(422, "Invalid");
      };
      await attempt({ path: "/data/a", value: "1" });
      await attempt({ path: "/data/none", value: "1" });
      await attempt({ path: "/metadata/resourceVersion", value: "1" });
      (await site.get(path)).shows({ a: "1" }, "data").shows(created.version, "metadata", "resourceVersion");
      const right = [
        { op: "test", path: "/metadata/resourceVersion", value: created.version },
        { op: "add", path: "/data/b", value: "2" },
      ];
      (await site.patch(path, right, jsonPatch)).is(200).shows({ a: "1", b: "2" }, "data");
    },
  ),
  rule("json-patch-lists", "a JSON patch reaches into lists by their index", async (site) => {
    const name = site.name();
    const path = at("nodes", undefined, name);
    await site.make("nodes", { ...node(name), metadata: { name } });
    const taint = (key: string) => ({ key, effect: "NoSchedule" });
    (await site.patch(path, { spec: { taints: [taint("a"), taint("b"), taint("c")] } })).is(200);
    const patch = [
      { op: "test", path: "/spec/taints/1/key", value: "b" },
      { op: "remove", path: "/spec/taints/1" },
      { op: "add", path: "/spec/taints/0", value: taint("first") },
      { op: "add", path: "/spec/taints/-", value: taint("last") },
    ];
    const expected = ["first", "a", "c", "last"].map(taint);
    (await site.patch(path, patch, jsonPatch)).is(200).shows(expected, "spec", "taints");
    (await site.patch(path, [{ op: "remove", path: "/spec/taints/9" }], jsonPatch)).fails(422, "Invalid");
  }),
  rule("json-patch-impossible", "an inapplicable JSON patch is refused with 422", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    await space.create("configmaps", configMap("one", { a: "1" }));
    for (const operation of [
      { op: "remove", path: "/data/none" },
      { op: "add", path: "/none/none", value: "1" },
      { op: "move", from: "/data/none", path: "/data/b" },
    ]) {
      (await site.patch(path, [operation], jsonPatch)).fails(422, "Invalid");
    }
    (await site.get(path)).shows({ a: "1" }, "data");
  }),
  rule("patch-type", "a patch of an unknown type is refused with 415", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    await space.create("configmaps", configMap("one"));
    for (const type of ["application/json", "text/plain", "application/unknown-patch+json"]) {
      (await site.patch(path, { data: { a: "1" } }, type)).fails(415, "UnsupportedMediaType");
    }
    (await site.get(path)).shows(undefined, "data");
  }),
  rule("patch-unreadable", "a patch that is not JSON is refused with 400", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    await space.create("configmaps", configMap("one"));
    (await site.patch(path, '{"data":', mergePatch)).fails(400, "BadRequest");
    (await site.patch(path, "[{]", jsonPatch)).fails(400, "BadRequest");
    (await site.patch(path, { op: "add" }, jsonPatch)).fails(400, "BadRequest");
  }),
  rule("patch-of-identity", "a patch cannot change an object's identity", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    const created = await space.create("configmaps", configMap("one"));
    (await site.patch(path, { metadata: { name: "two" } })).fails(400, "BadRequest");
    (await site.patch(path, { metadata: { namespace: "default" } })).fails(400, "BadRequest");
    const another = await site.patch(path, { kind: "Secret" });
    another.holds("a refusal", another.text, another.status === 400 || another.status === 422);
    const kept = (await site.patch(path, { metadata: { creationTimestamp: "2001-01-01T00:00:00Z" } })).is(200);
    kept.shows(created.at("metadata", "creationTimestamp"), "metadata", "creationTimestamp");
  }),
  rule("patch-of-nothing", "a patch of a missing object is refused with 404 and creates nothing", async (site) => {
    const space = await site.space();
    (await site.patch(space.at("configmaps", "one"), { data: { a: "1" } })).fails(404, "NotFound");
    (await site.get(space.at("configmaps", "one"))).fails(404, "NotFound");
  }),
  rule("patch-checked", "the result of a patch is validated like any other write", async (site) => {
    const space = await site.space();
    await space.create("pods", boundPod("one"));
    (await site.patch(space.at("pods", "one"), { spec: { nodeName: "another" } })).fails(422, "Invalid");
    (await site.patch(space.at("pods", "one"), { metadata: { labels: { app: "not valid" } } })).fails(422, "Invalid");
    await space.create("daemonsets", daemonSet("one"));
    (await site.patch(space.at("daemonsets", "one"), { spec: { selector: { matchLabels: { app: "other" } } } })).fails(
      422,
      "Invalid",
    );
    (await site.get(space.at("daemonsets", "one"))).shows("one", "spec", "selector", "matchLabels", "app");
  }),
  rule(
    "apply",
    "server-side apply creates missing objects, merges into existing ones, and requires a field manager",
    async (site) => {
      const space = await site.space();
      const path = space.at("configmaps", "one");
      const applied = JSON.stringify(configMap("one", { a: "1" }));
      const query = { fieldManager: "conformance" };
      (await site.patch(path, applied, applyPatch)).fails(422, "Invalid");
      (await site.patch(path, applied, applyPatch, query)).is(201).shows({ a: "1" }, "data");
      const again = (await site.patch(path, applied, applyPatch, query)).is(200);
      (await site.patch(path, { data: { b: "2" } })).is(200);
      const merged = (await site.patch(path, JSON.stringify(configMap("one", { a: "9" })), applyPatch, query)).is(200);
      merged.shows({ a: "9", b: "2" }, "data").shows(again.uid, "metadata", "uid");
      (await site.get(path)).shows(again.uid, "metadata", "uid");
    },
  ),
];
