import { itemsAt, textAt } from "../../../agent/api/json.ts";
import { at, boundPod, configMap, jsonPatch, lease, mergePatch, strategicPatch } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

const big = (bytes: number): string => "x".repeat(bytes);

export const failureRules: readonly Rule[] = [
  rule("not-found", "a missing object gets 404 NotFound, and the Status names it", async (site) => {
    const space = await site.space();
    const refused = (await site.get(space.at("leases", "one"))).fails(404, "NotFound");
    refused.shows({ name: "one", group: "coordination.k8s.io", kind: "leases" }, "details");
    refused.holds(
      "JSON",
      refused.headers["content-type"],
      /^application\/json\b/.test(refused.headers["content-type"] ?? ""),
    );
    (await site.get(at("nodes", undefined, site.name()))).fails(404, "NotFound").shows("nodes", "details", "kind");
  }),
  rule("no-such-resource", "an unknown resource, subresource or group gets 404", async (site) => {
    const space = await site.space();
    await space.create("configmaps", configMap("one"));
    (await site.get(`/api/v1/namespaces/${space.name}/chairs`)).fails(404, "NotFound");
    (await site.get("/apis/coordination.k8s.io/v1/chairs/one")).fails(404, "NotFound");
    (await site.get(space.at("configmaps", "one", "chairs"))).fails(404, "NotFound");
    (await site.get("/apis/chairs.example.com/v1/chairs")).is(404);
    (await site.post("/apis/chairs.example.com/v1/chairs", { kind: "Chair" })).is(404);
    (await site.get("/nowhere")).is(404);
  }),
  rule("method-not-allowed", "an unsupported method gets 405", async (site) => {
    const space = await site.space();
    await space.create("configmaps", configMap("one"));
    (await site.put(space.at("configmaps"), configMap("one"))).fails(405, "MethodNotAllowed");
    (await site.post(space.at("configmaps", "one"), configMap("one"))).fails(405, "MethodNotAllowed");
    (await site.post(at("configmaps"), configMap("one"))).fails(405, "MethodNotAllowed");
    (await site.patch(space.at("configmaps"), {})).fails(405, "MethodNotAllowed");
    (await site.delete("/api/v1/namespaces")).fails(405, "MethodNotAllowed");
  }),
  rule(
    "unreadable",
    "an unreadable body is refused with 400 and one of another type with 415, and nothing is stored",
    async (site) => {
      const space = await site.space();
      const post = (body: string, type?: string) =>
        site.client.ask("POST", space.at("configmaps"), { body, ...(type && { type }) });
      for (const body of ["", "{", "[]", '"text"', '{"kind":"ConfigMap","apiVersion":"v1","metadata":[]}']) {
        (await post(body)).fails(400, "BadRequest");
      }
      (await post("{}", "text/plain")).fails(415, "UnsupportedMediaType");
      (await site.client.ask("PUT", space.at("configmaps", "one"), { body: "{" })).fails(400, "BadRequest");
      (await site.get(space.at("configmaps"), { fieldSelector: "metadata.name!=kube-root-ca.crt" })).lists([]);
    },
  ),
  rule("invalid", "an invalid object gets 422 Invalid, with a cause for each field", async (site) => {
    const space = await site.space();
    const spec = { containers: [{ image: "a" }, { name: "two" }], tolerations: [] };
    const refused = (await site.post(space.at("pods"), boundPod("one", spec))).fails(422, "Invalid");
    refused.shows("one", "details", "name").shows("Pod", "details", "kind");
    const causes = itemsAt(refused.body, "details", "causes").map(
      (cause) => `${textAt(cause, "reason")} ${textAt(cause, "field")}`,
    );
    const expected = ["FieldValueRequired spec.containers[0].name", "FieldValueRequired spec.containers[1].image"];
    refused.holds(
      `causes, among them ${expected}`,
      causes,
      expected.every((one) => causes.includes(one)),
    );
    (await site.post(space.at("pods"), boundPod("one", { containers: [] }))).fails(422, "Invalid");
    (await site.get(space.at("pods"))).lists([]);
  }),
  rule("too-large", "a body above the limit is refused with 413, an object above it with 422 or 413", async (site) => {
    const space = await site.space();
    (await site.post(space.at("configmaps"), configMap("huge", { a: big(4 * 1024 * 1024) }))).is(413);
    const large = await site.post(space.at("configmaps"), configMap("large", { a: big(1024 * 1024), b: big(200_000) }));
    large.holds(
      "a refusal",
      `${large.status} ${large.text.slice(0, 300)}`,
      large.status === 422 || large.status === 413,
    );
    (await site.get(space.at("configmaps"), { fieldSelector: "metadata.name!=kube-root-ca.crt" })).lists([]);
    (await site.post(space.at("configmaps"), configMap("fits", { a: big(1000 * 1024) }))).is(201);
  }),
  rule(
    "strict-fields",
    "unknown and repeated members are refused, reported as warnings or ignored, as the client requests",
    async (site) => {
      const space = await site.space();
      const post = (name: string, fieldValidation: string | undefined, body: string) =>
        site.client.ask("POST", space.at("leases"), {
          body: body.replace("NAME", name),
          query: fieldValidation ? { fieldValidation } : {},
        });
      const unknown = JSON.stringify({ ...lease("NAME", { holderIdentity: "a", chair: 4 }) });
      const twice = unknown.replace('"chair":4', '"holderIdentity":"b"');
      for (const body of [unknown, twice]) {
        const strict = (await post("a", "Strict", body)).fails(400, "BadRequest");
        strict.holds("the name of the member", strict.text, /spec\.(chair|holderIdentity)/.test(strict.text));
      }
      (await site.get(space.at("leases"))).lists([]);
      for (const mode of ["Warn", undefined]) {
        const warned = (await post(mode === undefined ? "usual" : "warned", mode, unknown)).is(201);
        warned.holds(
          "a warning about the member",
          warned.headers.warning,
          /spec\.chair/.test(warned.headers.warning ?? ""),
        );
        warned.shows(undefined, "spec", "chair");
      }
      const ignored = (await post("ignored", "Ignore", unknown)).is(201).shows(undefined, "spec", "chair");
      ignored.same("warnings", ignored.headers.warning, undefined);
      (await post("wrong", "Sometimes", unknown)).fails(422, "Invalid");
    },
  ),
  rule("field-types", "a member of the wrong type is refused with 400", async (site) => {
    const space = await site.space();
    (await site.post(space.at("pods"), boundPod("one", { hostNetwork: "yes" }))).fails(400, "BadRequest");
    (await site.post(space.at("pods"), boundPod("one", { tolerations: {} }))).fails(400, "BadRequest");
    (await site.post(space.at("pods"), boundPod("one", { containers: ["a"] }))).fails(400, "BadRequest");
    (await site.post(space.at("pods"), { ...boundPod("one"), spec: [] })).fails(400, "BadRequest");
    (await site.get(space.at("pods"))).lists([]);
  }),
  rule("patch-types", "a patch that gives a member the wrong type is refused with 422", async (site) => {
    const space = await site.space();
    const path = space.at("leases", "one");
    const created = await space.create("leases", lease("one", { holderIdentity: "a" }));
    (await site.patch(path, { spec: { leaseDurationSeconds: "40" } })).fails(422, "Invalid");
    (await site.patch(path, { spec: { renewTime: "now" } }, strategicPatch)).fails(422, "Invalid");
    const add = [{ op: "add", path: "/spec/leaseDurationSeconds", value: "40" }];
    (await site.patch(path, add, jsonPatch)).fails(422, "Invalid");
    (await site.patch(path, { spec: { chair: 4 } }, mergePatch, { fieldValidation: "Strict" })).fails(422, "Invalid");
    const warned = (await site.patch(path, { spec: { chair: 4 } })).is(200);
    warned.holds(
      "a warning about the member",
      warned.headers.warning,
      /spec\.chair/.test(warned.headers.warning ?? ""),
    );
    warned.shows(created.version, "metadata", "resourceVersion").shows({ holderIdentity: "a" }, "spec");
  }),
];
