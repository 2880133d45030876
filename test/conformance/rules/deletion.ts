import { itemsAt, numberAt, textAt } from "../../../agent/api/json.ts";
import type { Answer } from "../answer.ts";
import type { Ground, Space } from "../ground.ts";
import { boundPod, configMap, lease, pod } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";
import { same } from "../unmet.ts";
import { eventText } from "../watch-stream.ts";

const hold = "siteward.test/hold";

/** The grace period of a deletion, such as "30 s"; "none" if it is not being deleted. */
function graceOf(answer: Answer): string {
  const seconds = numberAt(answer.body, "metadata", "deletionGracePeriodSeconds");
  return textAt(answer.body, "metadata", "deletionTimestamp") === "" ? "none" : `${seconds} s`;
}

const now = async (site: Ground, space: Space, resource: string): Promise<string> =>
  (await site.get(space.at(resource))).version;

export const deletionRules: readonly Rule[] = [
  rule("delete", "a deletion removes the object and its answer names it; a second deletion gets 404", async (site) => {
    const space = await site.space();
    const { uid } = await space.create("configmaps", configMap("one"));
    const gone = (await site.delete(space.at("configmaps", "one"))).is(200);
    gone.shows("Status", "kind").shows("Success", "status").shows({ name: "one", kind: "configmaps", uid }, "details");
    (await site.get(space.at("configmaps", "one"))).fails(404, "NotFound");
    (await site.delete(space.at("configmaps", "one"))).fails(404, "NotFound");
    (await space.create("configmaps", configMap("one"))).holds("another uid", uid, uid !== "");
  }),
  rule(
    "delete-grace",
    "a bound pod is marked, keeps running for its grace period, and is not removed by the server",
    async (site) => {
      const space = await site.space();
      const path = space.at("pods", "one");
      const { uid } = await space.create("pods", boundPod("one", { terminationGracePeriodSeconds: 40 }));
      const watch = await site.watch(space.at("pods"), { resourceVersion: await now(site, space, "pods") });
      const marked = (await site.delete(path)).is(200).shows("Pod", "kind").shows(uid, "metadata", "uid");
      marked.same("grace", graceOf(marked), "40 s");
      const until = Date.parse(marked.textAt("metadata", "deletionTimestamp"));
      // By the server's clock, which may differ from ours.
      const ahead = (until - Date.parse(marked.headers.date ?? "")) / 1000;
      marked.holds("a deletionTimestamp 40 s ahead", `${ahead} s ahead`, Math.abs(ahead - 40) <= 2);
      (await site.get(path)).shows(marked.at("metadata", "deletionTimestamp"), "metadata", "deletionTimestamp");
      same(watch.request, "events", await watch.tells(1), ["MODIFIED one"]);
      (await site.delete(path, { gracePeriodSeconds: 0 })).is(200);
      (await site.get(path)).fails(404, "NotFound");
      const rest = await watch.upTo((event) => eventText(event) === "DELETED one", "DELETED one");
      same(watch.request, "the last event", eventText(rest.at(-1) ?? { type: "", object: {} }), "DELETED one");
    },
  ),
  rule("delete-asked-grace", "a deletion's own grace period applies, in the body or the query", async (site) => {
    const space = await site.space();
    for (const name of ["a", "b", "c"]) await space.create("pods", boundPod(name));
    const [a, b, c] = [
      await site.delete(space.at("pods", "a")),
      await site.delete(space.at("pods", "b"), { gracePeriodSeconds: 7 }),
      await site.delete(space.at("pods", "c"), undefined, { gracePeriodSeconds: 9 }),
    ];
    a.same("grace", graceOf(a.is(200)), "30 s");
    b.same("grace", graceOf(b.is(200)), "7 s");
    c.same("grace", graceOf(c.is(200)), "9 s");
  }),
  rule("delete-shortened", "a pending deletion can be hastened but not postponed", async (site) => {
    const space = await site.space();
    const path = space.at("pods", "one");
    await space.create("pods", boundPod("one"));
    const first = (await site.delete(path, { gracePeriodSeconds: 60 })).is(200);
    const longer = (await site.delete(path, { gracePeriodSeconds: 120 })).is(200);
    longer.same("grace", graceOf(longer), "60 s").shows(first.version, "metadata", "resourceVersion");
    const again = (await site.delete(path)).is(200);
    again.same("grace", graceOf(again), "60 s");
    const shorter = (await site.delete(path, { gracePeriodSeconds: 5 })).is(200);
    shorter.same("grace", graceOf(shorter), "5 s");
    const [was, is] = [first, shorter].map((one) => Date.parse(one.textAt("metadata", "deletionTimestamp")));
    shorter.same("the time that the deletionTimestamp came nearer", (was ?? 0) - (is ?? 0), 55_000);
    (await site.delete(path, { gracePeriodSeconds: 0 })).is(200);
    (await site.get(path)).fails(404, "NotFound");
  }),
  rule("delete-unbound", "an unbound or finished pod is removed at once", async (site) => {
    const space = await site.space();
    await space.create("pods", pod("unbound"));
    (await site.delete(space.at("pods", "unbound"))).is(200);
    (await site.get(space.at("pods", "unbound"))).fails(404, "NotFound");
    for (const phase of ["Succeeded", "Failed"]) {
      const name = phase.toLowerCase();
      await space.create("pods", boundPod(name));
      (await site.patch(space.at("pods", name, "status"), { status: { phase } })).is(200);
      (await site.delete(space.at("pods", name))).is(200);
      (await site.get(space.at("pods", name))).fails(404, "NotFound");
    }
  }),
  rule("delete-forced", "a grace period of 0 removes a bound pod at once, if the uid matches", async (site) => {
    const space = await site.space();
    const path = space.at("pods", "one");
    const { uid } = await space.create("pods", boundPod("one"));
    (await site.delete(path, { gracePeriodSeconds: 0, preconditions: { uid: "another" } })).fails(409, "Conflict");
    (await site.get(path)).is(200).shows(undefined, "metadata", "deletionTimestamp");
    (await site.delete(path, { gracePeriodSeconds: 0, preconditions: { uid } })).is(200);
    (await site.get(path)).fails(404, "NotFound");
  }),
  rule("delete-grace-generation", "the mark of a deletion raises the generation", async (site) => {
    const space = await site.space();
    (await space.create("pods", boundPod("one"))).shows(1, "metadata", "generation");
    (await site.delete(space.at("pods", "one"))).shows(2, "metadata", "generation");
  }),
  rule(
    "finalizer",
    "an object with a finalizer is marked and stays until its last finalizer is removed",
    async (site) => {
      const space = await site.space();
      const path = space.at("leases", "one");
      await space.create("leases", lease("one", {}, { finalizers: [hold, `${hold}-too`] }));
      const watch = await site.watch(space.at("leases"), { resourceVersion: await now(site, space, "leases") });
      const marked = (await site.delete(path)).is(200);
      marked.holds("the object, with a deletionTimestamp", marked.body, graceOf(marked) === "0 s");
      const again = (await site.delete(path)).is(200);
      again.shows(marked.at("metadata", "deletionTimestamp"), "metadata", "deletionTimestamp");
      (await site.patch(path, { spec: { holderIdentity: "still writable" } })).is(200);
      (await site.patch(path, { metadata: { finalizers: [hold] } })).is(200);
      (await site.get(path)).is(200).shows([hold], "metadata", "finalizers");
      (await site.patch(path, { metadata: { finalizers: null } })).is(200);
      (await site.get(path)).fails(404, "NotFound");
      const expected = ["MODIFIED one", "MODIFIED one", "MODIFIED one", "DELETED one"];
      same(watch.request, "events", await watch.tells(4), expected);
    },
  ),
  rule(
    "finalizer-late",
    "an object that is being deleted accepts no new finalizer, and its deletion cannot be withdrawn",
    async (site) => {
      const space = await site.space();
      const path = space.at("configmaps", "one");
      await space.create("configmaps", configMap("one", {}, { finalizers: [hold] }));
      const marked = (await site.delete(path)).is(200);
      const late = await site.patch(path, { metadata: { finalizers: [hold, `${hold}-late`] } });
      late.holds("a refusal", late.text, late.status === 422 || late.status === 403);
      const back = await site.patch(path, { metadata: { deletionTimestamp: null } });
      back.holds("a refusal, or no effect", back.text, back.status === 422 || back.status === 200);
      const read = (await site.get(path)).is(200).shows([hold], "metadata", "finalizers");
      read.shows(marked.at("metadata", "deletionTimestamp"), "metadata", "deletionTimestamp");
    },
  ),
  rule(
    "finalizer-and-grace",
    "a pod with a finalizer stays beyond its grace period, and for its grace period after the finalizer",
    async (site) => {
      const space = await site.space();
      const path = space.at("pods", "one");
      await space.create("pods", boundPod("one", {}, { finalizers: [hold] }));
      (await site.delete(path, { gracePeriodSeconds: 0 })).is(200);
      (await site.get(path)).is(200).shows(0, "metadata", "deletionGracePeriodSeconds");
      (await site.patch(path, { metadata: { finalizers: null } })).is(200);
      (await site.get(path)).fails(404, "NotFound");
      await space.create("pods", boundPod("one", {}, { finalizers: [hold] }));
      (await site.delete(path, { gracePeriodSeconds: 30 })).is(200);
      (await site.patch(path, { metadata: { finalizers: null } })).is(200);
      (await site.get(path)).is(200).shows(30, "metadata", "deletionGracePeriodSeconds");
      (await site.delete(path, { gracePeriodSeconds: 0 })).is(200);
      (await site.get(path)).fails(404, "NotFound");
    },
  ),
  rule("finalizer-set-by-server", "a client cannot set a deletionTimestamp", async (site) => {
    const space = await site.space();
    const deletionTimestamp = "2020-01-01T00:00:00Z";
    const sent = configMap("one", {}, { deletionTimestamp, deletionGracePeriodSeconds: 5 });
    (await space.create("configmaps", sent)).shows(undefined, "metadata", "deletionTimestamp");
    const path = space.at("configmaps", "one");
    const patched = await site.patch(path, { metadata: { deletionTimestamp } });
    patched.holds("a refusal, or no effect", patched.text, patched.status === 422 || patched.status === 200);
    (await site.get(path)).is(200).shows(undefined, "metadata", "deletionTimestamp");
  }),
  rule("delete-collection", "a deletion of a collection deletes exactly the selected objects", async (site) => {
    const [space, other] = [await site.space(), await site.space()];
    for (const name of ["a", "b", "c"])
      await space.create("leases", lease(name, {}, { labels: { app: name === "c" ? "db" : "web" } }));
    await other.create("leases", lease("a", {}, { labels: { app: "web" } }));
    (await site.delete(space.at("leases"), undefined, { labelSelector: "app=web" })).is(200);
    (await site.get(space.at("leases"))).lists(["c"]);
    (await site.get(other.at("leases"))).lists(["a"]);
    (await site.delete(space.at("leases"), undefined, { fieldSelector: "metadata.name=other" })).is(200);
    (await site.get(space.at("leases"))).lists(["c"]);
    (await site.delete(space.at("leases"))).is(200);
    (await site.get(space.at("leases"))).lists([]);
  }),
  rule(
    "delete-collection-marks",
    "a deletion of a collection marks the objects that are not removed at once",
    async (site) => {
      const space = await site.space();
      await space.create("pods", boundPod("bound"));
      await space.create("pods", pod("unbound"));
      (await site.delete(space.at("pods"), { gracePeriodSeconds: 20 })).is(200);
      const left = (await site.get(space.at("pods"))).lists(["bound"]);
      left.same("grace", numberAt(left.items[0], "metadata", "deletionGracePeriodSeconds"), 20);
    },
  ),
  rule("delete-owned", "an owner can be deleted with each known propagation policy and no other", async (site) => {
    const space = await site.space();
    for (const propagationPolicy of ["Background", "Orphan", "Foreground"]) {
      const name = propagationPolicy.toLowerCase();
      await space.create("configmaps", configMap(name));
      (await site.delete(space.at("configmaps", name), { propagationPolicy })).is(200);
      const left = await site.get(space.at("configmaps", name));
      // Orphaning and waiting for dependents are finalizers of the garbage collector, which may be missing.
      if (left.status === 200) {
        left.holds(
          "a finalizer of the garbage collector",
          left.at("metadata"),
          itemsAt(left.body, "metadata", "finalizers").length === 1,
        );
        await site.patch(space.at("configmaps", name), { metadata: { finalizers: null } });
      }
    }
    await space.create("configmaps", configMap("one"));
    (await site.delete(space.at("configmaps", "one"), { propagationPolicy: "Sideways" })).fails(422, "Invalid");
    (await site.get(space.at("configmaps", "one"))).is(200);
  }),
];
