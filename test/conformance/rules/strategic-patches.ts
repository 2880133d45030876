import { itemsAt, type JsonObject, type JsonValue, textAt } from "../../../agent/api/json.ts";
import type { Answer } from "../answer.ts";
import { at, boundPod, configMap, deployment, node, strategicPatch } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

const container = (name: string, more: JsonObject = {}): JsonObject => ({ name, image: `${name}:1`, ...more });

const withContainers = (name: string, containers: readonly JsonValue[]): JsonObject => {
  const spec = {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers } },
  };
  return deployment(name, spec);
};

const template = (spec: JsonObject): JsonObject => ({ spec: { template: { spec } } });

const containersOf = (answer: Answer): readonly string[] =>
  itemsAt(answer.body, "spec", "template", "spec", "containers").map(
    (one) => `${textAt(one, "name")} ${textAt(one, "image")}`,
  );

export const strategicPatchRules: readonly Rule[] = [
  rule(
    "strategic-keys",
    "a strategic-merge patch finds the items of a list by their key, changes those and adds the others",
    async (site) => {
      const space = await site.space();
      const path = space.at("deployments", "one");
      const env = [
        { name: "A", value: "1" },
        { name: "B", value: "2" },
      ];
      await space.create("deployments", withContainers("one", [container("main", { env }), container("side")]));
      const containers = [
        { name: "side", image: "side:2" },
        {
          name: "main",
          env: [
            { name: "B", value: "9" },
            { name: "C", value: "3" },
          ],
        },
        container("new"),
      ];
      const patched = (await site.patch(path, template({ containers }), strategicPatch)).is(200);
      patched.same("containers", containersOf(patched).toSorted(), ["main main:1", "new new:1", "side side:2"]);
      const main = itemsAt(patched.body, "spec", "template", "spec", "containers").find(
        (one) => textAt(one, "name") === "main",
      );
      const named = Object.fromEntries(itemsAt(main, "env").map((one) => [textAt(one, "name"), textAt(one, "value")]));
      patched.same("env of main", named, { A: "1", B: "9", C: "3" });
    },
  ),
  rule("strategic-delete", "$patch: delete removes an item by its key, and no other", async (site) => {
    const space = await site.space();
    const path = space.at("deployments", "one");
    await space.create(
      "deployments",
      withContainers("one", [container("main"), container("side"), container("third")]),
    );
    const patch = template({ containers: [{ name: "side", $patch: "delete" }] });
    const patched = (await site.patch(path, patch, strategicPatch)).is(200);
    patched.same("containers", containersOf(patched), ["main main:1", "third third:1"]);
  }),
  rule("strategic-replace", "$patch: replace replaces a list or an object by the patch", async (site) => {
    const space = await site.space();
    const path = space.at("deployments", "one");
    await space.create("deployments", withContainers("one", [container("main"), container("side")]));
    const patch = template({ containers: [container("only"), { $patch: "replace" }] });
    const patched = (await site.patch(path, patch, strategicPatch)).is(200);
    patched.same("containers", containersOf(patched), ["only only:1"]);
    await space.create("configmaps", configMap("one", { a: "1", b: "2" }));
    const data = { $patch: "replace", c: "3" };
    (await site.patch(space.at("configmaps", "one"), { data }, strategicPatch)).is(200).shows({ c: "3" }, "data");
  }),
  rule("strategic-retain", "$retainKeys keeps the members that it names and drops the others", async (site) => {
    const space = await site.space();
    const path = space.at("deployments", "one");
    const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await space.create("deployments", deployment("one", { strategy }));
    const patch = { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } };
    (await site.patch(path, patch, strategicPatch)).is(200).shows({ type: "Recreate" }, "spec", "strategy");
  }),
  rule("strategic-null", "a null removes a member, of an item found by its key too", async (site) => {
    const space = await site.space();
    const path = space.at("deployments", "one");
    await space.create(
      "deployments",
      withContainers("one", [container("main", { command: ["sleep"], workingDir: "/data" }), container("side")]),
    );
    const patch = template({ containers: [{ name: "main", command: null }], hostname: null });
    const patched = (await site.patch(path, patch, strategicPatch)).is(200);
    const [main] = itemsAt(patched.body, "spec", "template", "spec", "containers");
    patched.same("workingDir of main", textAt(main, "workingDir"), "/data");
    patched.same("command of main", itemsAt(main, "command"), []);
  }),
  rule(
    "strategic-primitives",
    "$deleteFromPrimitiveList removes values from a list that is merged by value",
    async (site) => {
      const space = await site.space();
      const path = space.at("configmaps", "one");
      const finalizers = ["siteward.test/a", "siteward.test/b"];
      await space.create("configmaps", configMap("one", {}, { finalizers }));
      const added = (
        await site.patch(path, { metadata: { finalizers: ["siteward.test/c", "siteward.test/a"] } }, strategicPatch)
      ).is(200);
      added.same("finalizers", itemsAt(added.body, "metadata", "finalizers").toSorted(), [
        "siteward.test/a",
        "siteward.test/b",
        "siteward.test/c",
      ]);
      const patch = { metadata: { "$deleteFromPrimitiveList/finalizers": ["siteward.test/b"] } };
      const removed = (await site.patch(path, patch, strategicPatch)).is(200);
      removed.same("finalizers", itemsAt(removed.body, "metadata", "finalizers").toSorted(), [
        "siteward.test/a",
        "siteward.test/c",
      ]);
    },
  ),
  rule("strategic-order", "$setElementOrder determines the order of a merged list", async (site) => {
    const space = await site.space();
    const path = space.at("deployments", "one");
    await space.create("deployments", withContainers("one", [container("main"), container("side")]));
    const order = [{ name: "new" }, { name: "side" }, { name: "main" }];
    const patch = template({ "$setElementOrder/containers": order, containers: [container("new")] });
    const patched = (await site.patch(path, patch, strategicPatch)).is(200);
    patched.same("containers", containersOf(patched), ["new new:1", "side side:1", "main main:1"]);
  }),
  rule(
    "strategic-atomic",
    "lists without a key are replaced as a whole: taints, tolerations, commands",
    async (site) => {
      const space = await site.space();
      const name = site.name();
      await site.make("nodes", { ...node(name), metadata: { name } });
      const taint = (key: string): JsonObject => ({ key, effect: "NoSchedule" });
      const board = at("nodes", undefined, name);
      (await site.patch(board, { spec: { taints: [taint("a"), taint("b")] } }, strategicPatch)).is(200);
      (await site.patch(board, { spec: { taints: [taint("c")] } }, strategicPatch))
        .is(200)
        .shows([taint("c")], "spec", "taints");
      await space.create("deployments", withContainers("one", [container("main", { command: ["sleep", "1"] })]));
      const patch = template({ containers: [{ name: "main", command: ["true"] }] });
      const patched = (await site.patch(space.at("deployments", "one"), patch, strategicPatch)).is(200);
      patched.same("command", itemsAt(itemsAt(patched.body, "spec", "template", "spec", "containers")[0], "command"), [
        "true",
      ]);
    },
  ),
  rule("strategic-owners", "owners are found by their uid, addresses and conditions by their type", async (site) => {
    const space = await site.space();
    const owner = (uid: string, controller: boolean): JsonObject => ({
      apiVersion: "v1",
      kind: "Pod",
      name: uid,
      uid,
      controller,
    });
    await space.create(
      "pods",
      boundPod(
        "one",
        {},
        { ownerReferences: [owner("u1", true), owner("u2", false)], finalizers: ["siteward.test/hold"] },
      ),
    );
    const patch = {
      metadata: {
        ownerReferences: [
          { uid: "u1", $patch: "delete" },
          { uid: "u2", name: "renamed" },
        ],
      },
    };
    const patched = (await site.patch(space.at("pods", "one"), patch, strategicPatch)).is(200);
    patched.same(
      "owners",
      itemsAt(patched.body, "metadata", "ownerReferences").map((one) => textAt(one, "name")),
      ["renamed"],
    );
    const name = site.name();
    await site.make("nodes", { ...node(name), metadata: { name } });
    const status = at("nodes", undefined, name, "status");
    const addresses = [
      { type: "InternalIP", address: "10.0.0.1" },
      { type: "Hostname", address: "pi" },
    ];
    (await site.patch(status, { status: { addresses } }, strategicPatch)).is(200);
    const moved = (
      await site.patch(status, { status: { addresses: [{ type: "InternalIP", address: "10.0.0.2" }] } }, strategicPatch)
    ).is(200);
    const found = Object.fromEntries(
      itemsAt(moved.body, "status", "addresses").map((one) => [textAt(one, "type"), textAt(one, "address")]),
    );
    moved.same("addresses", found, { InternalIP: "10.0.0.2", Hostname: "pi" });
  }),
  rule("strategic-wrong", "an invalid strategic-merge patch is refused and changes nothing", async (site) => {
    const space = await site.space();
    const path = space.at("deployments", "one");
    const created = await space.create("deployments", withContainers("one", [container("main")]));
    for (const patch of [
      template({ containers: [{ image: "no-name:1" }] }),
      template({ containers: [{ name: "main", $patch: "unknown" }] }),
      template({ containers: "main" }),
    ]) {
      const refused = await site.patch(path, patch, strategicPatch);
      refused.holds("a refusal", refused.status, refused.status >= 400);
    }
    (await site.get(path)).shows(created.version, "metadata", "resourceVersion");
  }),
];
