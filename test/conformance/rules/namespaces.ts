import { itemsAt, textAt } from "../../../agent/api/json.ts";
import { at, configMap, lease } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

export const namespaceRules: readonly Rule[] = [
  rule("namespaces-at-start", "the namespaces of every cluster exist and cannot be deleted", async (site) => {
    const list = (await site.get(at("namespaces"))).is(200);
    const needed = ["default", "kube-node-lease", "kube-public", "kube-system"];
    list.holds(
      `among the names ${needed}`,
      list.names,
      needed.every((one) => list.names.includes(one)),
    );
    for (const name of ["default", "kube-system", "kube-public"]) {
      (await site.delete(at("namespaces", undefined, name), undefined, { dryRun: "All" })).fails(403, "Forbidden");
    }
  }),
  rule(
    "namespace",
    "a new namespace is active, has its name as a label, and a finalizer until it is empty",
    async (site) => {
      const name = site.name();
      const created = await site.make("namespaces", { kind: "Namespace", apiVersion: "v1", metadata: { name } });
      created.shows("Active", "status", "phase").shows(["kubernetes"], "spec", "finalizers");
      created.shows(name, "metadata", "labels", "kubernetes.io/metadata.name");
      (
        await site.post(at("namespaces"), { kind: "Namespace", apiVersion: "v1", metadata: { name: "Not.Valid" } })
      ).fails(422, "Invalid");
      (await site.post(at("namespaces"), { kind: "Namespace", apiVersion: "v1", metadata: { name: "a.b" } })).fails(
        422,
        "Invalid",
      );
    },
  ),
  rule("namespace-missing", "nothing can be created in a missing namespace", async (site) => {
    const missing = site.name();
    const refused = (await site.post(at("configmaps", missing), configMap("one"))).fails(404, "NotFound");
    refused.shows({ name: missing, kind: "namespaces" }, "details");
    (await site.get(at("leases", missing))).lists([]);
    (await site.get(at("leases", missing, "one"))).fails(404, "NotFound");
  }),
  rule(
    "namespace-terminating",
    "a terminating namespace accepts no new objects, 403 with the cause NamespaceTerminating; existing ones can be changed",
    async (site) => {
      const space = await site.space();
      await space.create("leases", lease("one", {}, { finalizers: ["siteward.test/hold"] }));
      const marked = (await site.delete(at("namespaces", undefined, space.name))).is(200);
      marked.shows("Terminating", "status", "phase");
      marked.holds("a deletionTimestamp", marked.at("metadata"), marked.textAt("metadata", "deletionTimestamp") !== "");
      const refused = (await site.post(space.at("leases"), lease("two"))).fails(403, "Forbidden");
      const reasons = itemsAt(refused.body, "details", "causes").map((cause) => textAt(cause, "reason"));
      refused.same("causes", reasons, ["NamespaceTerminating"]);
      (await site.patch(space.at("leases", "one"), { spec: { holderIdentity: "still" } })).is(200);
      (await site.get(at("namespaces", undefined, space.name))).shows("Terminating", "status", "phase");
    },
  ),
];
