import { textAt } from "../../../agent/api/json.ts";
import { boundPod, configMap, lease, pod } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

export const nameRules: readonly Rule[] = [
  rule("generate-name", "a generated name is the prefix plus random letters", async (site) => {
    const space = await site.space();
    const made = { kind: "Lease", apiVersion: "coordination.k8s.io/v1", metadata: { generateName: "one-" }, spec: {} };
    const names = new Set<string>();
    for (let i = 0; i < 20; i++) {
      const created = (await site.post(space.at("leases"), made)).is(201).shows("one-", "metadata", "generateName");
      const name = created.textAt("metadata", "name");
      created.holds("one- and five letters or digits", name, /^one-[a-z0-9]{5}$/.test(name));
      (await site.get(space.at("leases", name))).is(200).shows(created.uid, "metadata", "uid");
      names.add(name);
    }
    (await site.get(space.at("leases"))).same("how many there are", names.size, 20).lists([...names].toSorted());
    const long = { ...made, metadata: { generateName: "l".repeat(80) } };
    const cut = (await site.post(space.at("leases"), long)).is(201).textAt("metadata", "name");
    (await site.get(space.at("leases", cut))).is(200).same("its length", cut.length, 63);
  }),
  rule("generate-name-beside", "a given name takes precedence over a generated one", async (site) => {
    const space = await site.space();
    const made = lease("one", {}, { generateName: "other-" });
    (await space.create("leases", made)).shows("one", "metadata", "name");
    (await site.post(space.at("leases"), made)).fails(409, "AlreadyExists").shows("one", "details", "name");
  }),
  rule("name-needed", "an object without a name and without a prefix for one is refused with 422", async (site) => {
    const space = await site.space();
    const refused = await site.post(space.at("configmaps"), { kind: "ConfigMap", apiVersion: "v1", metadata: {} });
    refused.fails(422, "Invalid").shows("ConfigMap", "details", "kind");
    const [cause] = (refused.at("details", "causes") ?? []) as readonly object[];
    refused.same("the cause", textAt(Object(cause), "reason"), "FieldValueRequired");
  }),
  rule("name-form", "names are DNS names; other names are refused with 422", async (site) => {
    const space = await site.space();
    for (const name of ["a", "a.b-c.d0", "a".repeat(253)])
      (await site.post(space.at("configmaps"), configMap(name))).is(201);
    for (const name of ["A", "a_b", "-a", "a-", "a..b", "a b", ".", "ü", "a".repeat(254)]) {
      const refused = (await site.post(space.at("configmaps"), configMap(name))).fails(422, "Invalid");
      refused.shows(name, "details", "name");
      const [cause] = (refused.at("details", "causes") ?? []) as readonly object[];
      refused.same("the field", textAt(Object(cause), "field"), "metadata.name");
    }
    const service = { kind: "Service", apiVersion: "v1", metadata: { name: "a.b" }, spec: { ports: [{ port: 80 }] } };
    (await site.post(space.at("services"), service)).fails(422, "Invalid");
  }),
  rule("name-taken", "a taken name gets 409 AlreadyExists, and the existing object is unchanged", async (site) => {
    const space = await site.space();
    const first = await space.create("configmaps", configMap("one", { by: "first" }));
    const refused = (await site.post(space.at("configmaps"), configMap("one", { by: "second" }))).fails(
      409,
      "AlreadyExists",
    );
    refused.shows({ name: "one", kind: "configmaps" }, "details");
    (await site.get(space.at("configmaps", "one"))).same(
      "the object",
      (await site.get(space.at("configmaps", "one"))).body,
      first.body,
    );
    await space.create("pods", boundPod("one", {}, { finalizers: ["siteward.test/hold"] }));
    (await site.delete(space.at("pods", "one"))).is(200);
    (await site.post(space.at("pods"), pod("one"))).fails(409, "AlreadyExists");
  }),
  rule("name-in-the-path", "a body that names another object than the path is refused with 400", async (site) => {
    const space = await site.space();
    const read = await space.create("configmaps", configMap("one"));
    (await site.put(space.at("configmaps", "one"), configMap("two"))).fails(400, "BadRequest");
    (await site.post(space.at("configmaps"), configMap("two", {}, { namespace: "default" }))).fails(400, "BadRequest");
    const elsewhere = { ...read.body, metadata: { name: "one", namespace: "default" } };
    (await site.put(space.at("configmaps", "one"), elsewhere)).fails(400, "BadRequest");
    (await site.post(space.at("configmaps"), lease("two"))).fails(400, "BadRequest");
    (await site.post(space.at("configmaps"), { ...configMap("two"), apiVersion: "v2" })).fails(400, "BadRequest");
  }),
  rule("identity", "only the server sets an object's uid, creation time and namespace", async (site) => {
    const space = await site.space();
    const sent = {
      uid: "11111111-1111-4111-8111-111111111111",
      creationTimestamp: "2001-01-01T00:00:00Z",
      selfLink: "/a",
    };
    const created = await space.create("configmaps", configMap("one", {}, sent));
    created.shows(space.name, "metadata", "namespace");
    created.holds(
      "a uid of the server's",
      created.uid,
      /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(created.uid) && created.uid !== sent.uid,
    );
    const time = created.textAt("metadata", "creationTimestamp");
    created.holds(
      "a creationTimestamp to the second",
      time,
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time) && time !== sent.creationTimestamp,
    );
    const put = (
      await site.put(space.at("configmaps", "one"), { ...created.body, metadata: { name: "one" }, data: { a: "1" } })
    ).is(200);
    put
      .shows(created.uid, "metadata", "uid")
      .shows(time, "metadata", "creationTimestamp")
      .shows(space.name, "metadata", "namespace");
    const uids = await Promise.all(
      ["a", "b", "c", "d"].map(async (name) => (await space.create("leases", lease(name))).uid),
    );
    put.same("uids, each another", new Set(uids).size, 4);
  }),
  rule("version-on-create", "a new object must not have a version", async (site) => {
    const space = await site.space();
    const refused = await site.post(space.at("configmaps"), configMap("one", {}, { resourceVersion: "1" }));
    refused.holds("a refusal", refused.text, refused.status >= 400 && refused.text.includes("resourceVersion"));
    (await site.get(space.at("configmaps", "one"))).fails(404, "NotFound");
  }),
  rule(
    "labels-form",
    "malformed labels and annotations are refused with 422, and values other than strings with 400",
    async (site) => {
      const space = await site.space();
      for (const metadata of [
        { labels: { "not valid": "a" } },
        { labels: { app: "not valid" } },
        { labels: { app: "a".repeat(64) } },
        { labels: { ["a".repeat(64)]: "a" } },
        { labels: { "a/b/c": "a" } },
        { annotations: { "not valid": "a" } },
        { annotations: { big: "x".repeat(256 * 1024) } },
        { finalizers: ["not valid"] },
        { finalizers: ["unqualified"] },
        { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "", uid: "u" }] },
      ]) {
        (await site.post(space.at("configmaps"), configMap("one", {}, metadata))).fails(422, "Invalid");
      }
      for (const metadata of [{ labels: { app: 1 } }, { labels: "app" }, { annotations: ["a"] }, { finalizers: "a" }]) {
        (await site.post(space.at("configmaps"), configMap("one", {}, metadata))).fails(400, "BadRequest");
      }
      const fine = {
        labels: { "siteward.test/App_1.x": "", app: "A-b_c.1" },
        annotations: { "siteward.test/Note": "any ü text\n" },
      };
      (await space.create("configmaps", configMap("one", {}, fine)))
        .shows(fine.labels, "metadata", "labels")
        .shows(fine.annotations, "metadata", "annotations");
    },
  ),
  rule("data-form", "data are strings with keys that are valid file names", async (site) => {
    const space = await site.space();
    (await site.post(space.at("configmaps"), configMap("one", { "a/b": "1" }))).fails(422, "Invalid");
    (await site.post(space.at("configmaps"), configMap("one", { "..": "1" }))).fails(422, "Invalid");
    (await site.post(space.at("configmaps"), configMap("one", { a: 1 }))).fails(400, "BadRequest");
    (await site.post(space.at("configmaps"), { ...configMap("one"), data: "a" })).fails(400, "BadRequest");
    (await space.create("configmaps", configMap("one", { "A.b_c-1": "1" }))).shows({ "A.b_c-1": "1" }, "data");
  }),
];
