import { numberAt, textAt } from "../../../agent/api/json.ts";
import type { Answer } from "../answer.ts";
import { at, configMap, jsonPatch, lease, node, strategicPatch } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

/** The object with changed content and the version of the read. */
const edited = (read: Answer, change: object): typeof read.body => ({ ...read.body, ...change });

const sorted = (answers: readonly Answer[]): readonly number[] => answers.map(({ status }) => status).toSorted();

export const conflictRules: readonly Rule[] = [
  rule(
    "stale-update",
    "an update from an old state is refused with 409 Conflict without effect: two writers would undo each other",
    async (site) => {
      const space = await site.space();
      const path = space.at("configmaps", "one");
      const old = await space.create("configmaps", configMap("one", { by: "nobody" }));
      const first = (await site.put(path, edited(old, { data: { by: "first" } }))).is(200);
      const refused = (await site.put(path, edited(old, { data: { by: "second" } }))).fails(409, "Conflict");
      refused.shows("one", "details", "name").shows("configmaps", "details", "kind");
      (await site.get(path)).shows({ by: "first" }, "data").shows(first.version, "metadata", "resourceVersion");
      (await site.put(path, edited(first, { data: { by: "second" } }))).is(200);
    },
  ),
  rule(
    "stale-update-of-boards",
    "a stale update of boards, Leases and their status is refused as well",
    async (site) => {
      const space = await site.space();
      const name = site.name();
      const board = at("nodes", undefined, name);
      const old = await site.make("nodes", { ...node(name), metadata: { name } });
      (await site.patch(board, { metadata: { labels: { changed: "yes" } } })).is(200);
      (await site.put(board, edited(old, { spec: { unschedulable: true } }))).fails(409, "Conflict");
      (await site.put(`${board}/status`, edited(old, { status: { phase: "Running" } }))).fails(409, "Conflict");
      const held = await space.create("leases", lease("one"));
      (await site.patch(space.at("leases", "one"), { spec: { holderIdentity: "a" } })).is(200);
      (await site.put(space.at("leases", "one"), edited(held, { spec: { holderIdentity: "b" } }))).fails(
        409,
        "Conflict",
      );
      (await site.get(space.at("leases", "one"))).shows("a", "spec", "holderIdentity");
    },
  ),
  rule("stale-patch", "a patch that names an old resourceVersion is refused with 409 Conflict", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    const { version } = await space.create("configmaps", configMap("one", { by: "nobody" }));
    const fresh = (await site.patch(path, { metadata: { resourceVersion: version }, data: { by: "first" } })).is(200);
    const stale = { metadata: { resourceVersion: version }, data: { by: "second" } };
    (await site.patch(path, stale)).fails(409, "Conflict");
    (await site.patch(path, stale, strategicPatch)).fails(409, "Conflict");
    (await site.get(path)).shows(fresh.version, "metadata", "resourceVersion").shows({ by: "first" }, "data");
    (await site.patch(path, { ...stale, metadata: { resourceVersion: fresh.version } }, strategicPatch)).is(200);
  }),
  rule(
    "patch-of-another",
    "a patch that names another uid is refused: a fenced write does not hit a successor",
    async (site) => {
      const space = await site.space();
      const path = space.at("configmaps", "one");
      const { uid } = await space.create("configmaps", configMap("one"));
      (await site.delete(path)).is(200);
      await space.create("configmaps", configMap("one", { by: "successor" }));
      const refused = await site.patch(path, { metadata: { uid }, data: { by: "late" } });
      refused.holds("409 or 422", refused.text, refused.status === 409 || refused.status === 422);
      const test = [
        { op: "test", path: "/metadata/uid", value: uid },
        { op: "add", path: "/data/by", value: "late" },
      ];
      (await site.patch(path, test, jsonPatch)).fails(422, "Invalid");
      (await site.get(path)).shows({ by: "successor" }, "data");
    },
  ),
  rule("update-of-another", "an update that names another uid is refused with 409 Conflict", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    const old = await space.create("configmaps", configMap("one"));
    (await site.delete(path)).is(200);
    const now = await space.create("configmaps", configMap("one", { by: "successor" }));
    const metadata = { name: "one", uid: old.uid, resourceVersion: now.version };
    (await site.put(path, edited(old, { metadata }))).fails(409, "Conflict");
    (await site.get(path)).shows({ by: "successor" }, "data");
  }),
  rule(
    "update-unconditional",
    "an update without a resourceVersion replaces any state, except of a Lease",
    async (site) => {
      const space = await site.space();
      await space.create("configmaps", configMap("one", { by: "nobody" }));
      (await site.put(space.at("configmaps", "one"), configMap("one", { by: "somebody" })))
        .is(200)
        .shows({ by: "somebody" }, "data");
      await space.leases("one");
      (await site.put(space.at("leases", "one"), lease("one", { holderIdentity: "a" }))).fails(422, "Invalid");
    },
  ),
  rule("update-of-nothing", "an update of a missing object is refused with 404 and creates nothing", async (site) => {
    const space = await site.space();
    (await site.put(space.at("configmaps", "one"), configMap("one"))).fails(404, "NotFound");
    (await site.put(space.at("pods", "one", "status"), { ...configMap("one"), kind: "Pod" })).fails(404, "NotFound");
    (await site.get(space.at("configmaps", "one"))).fails(404, "NotFound");
  }),
  rule("one-winner", "exactly one of many updates from the same state succeeds", async (site) => {
    const space = await site.space();
    const path = space.at("leases", "one");
    const old = await space.create("leases", lease("one"));
    const holders = Array.from({ length: 10 }, (_, i) => `holder-${i}`);
    const answers = await Promise.all(
      holders.map((holderIdentity) => site.put(path, edited(old, { spec: { holderIdentity } }))),
    );
    const [first] = answers;
    first?.same("statuses", sorted(answers), [200, ...Array.from({ length: 9 }, () => 409)]);
    const winner = holders[answers.findIndex(({ status }) => status === 200)] ?? "";
    (await site.get(path)).shows(winner, "spec", "holderIdentity");
  }),
  rule(
    "one-creator",
    "of many creates of the same name exactly one succeeds; the others get 409 AlreadyExists",
    async (site) => {
      const space = await site.space();
      const tries = Array.from({ length: 10 }, (_, i) => lease("one", { holderIdentity: `holder-${i}` }));
      const answers = await Promise.all(tries.map((object) => site.post(space.at("leases"), object)));
      const [first] = answers;
      first?.same("statuses", sorted(answers), [201, ...Array.from({ length: 9 }, () => 409)]);
      for (const answer of answers)
        if (answer.status === 409) answer.fails(409, "AlreadyExists").shows("one", "details", "name");
      const winner = answers.find(({ status }) => status === 201);
      (await site.get(space.at("leases", "one"))).shows(winner?.uid ?? "", "metadata", "uid");
    },
  ),
  rule(
    "counted-by-many",
    "concurrent changes by read and update, repeated after conflicts, are all kept",
    async (site) => {
      const space = await site.space();
      const path = space.at("leases", "one");
      await space.create("leases", lease("one", { leaseTransitions: 0 }));
      const add = async (): Promise<void> => {
        for (let added = 0; added < 5; ) {
          const read = (await site.get(path)).is(200);
          const leaseTransitions = (numberAt(read.body, "spec", "leaseTransitions") ?? 0) + 1;
          const answer = await site.put(path, edited(read, { spec: { leaseTransitions } }));
          if (answer.status === 200) added++;
          else answer.fails(409, "Conflict");
        }
      };
      await Promise.all([add(), add(), add(), add()]);
      (await site.get(path)).shows(20, "spec", "leaseTransitions");
    },
  ),
  rule("patched-by-many", "concurrent patches of different members are all kept", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    await space.create("configmaps", configMap("one"));
    const keys = Array.from({ length: 12 }, (_, i) => `key-${i}`);
    await Promise.all(keys.map(async (key) => (await site.patch(path, { data: { [key]: "x" } })).is(200)));
    const read = (await site.get(path)).is(200);
    read.same("members of data", Object.keys(Object(read.at("data"))).toSorted(), keys.toSorted());
  }),
  rule(
    "delete-uid",
    "a deletion with another uid is refused with 409 Conflict: the decision was about a predecessor",
    async (site) => {
      const space = await site.space();
      const path = space.at("pods", "one");
      const spec = { schedulerName: "conformance-none", containers: [{ name: "main", image: "busybox:1" }] };
      const pod = { kind: "Pod", apiVersion: "v1", metadata: { name: "one" }, spec };
      const old = await space.create("pods", pod);
      (await site.delete(path, { preconditions: { uid: old.uid } })).is(200);
      const now = await space.create("pods", pod);
      (await site.delete(path, { preconditions: { uid: old.uid } })).fails(409, "Conflict");
      (await site.delete(path, { preconditions: { uid: old.uid }, gracePeriodSeconds: 0 })).fails(409, "Conflict");
      (await site.get(path)).shows(now.uid, "metadata", "uid").shows(undefined, "metadata", "deletionTimestamp");
      (await site.delete(path, { preconditions: { uid: now.uid } })).is(200);
      (await site.get(path)).fails(404, "NotFound");
      (await site.delete(path, { preconditions: { uid: now.uid } })).fails(404, "NotFound");
    },
  ),
  rule("delete-version", "a deletion with an old resourceVersion is refused with 409 Conflict", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    const old = await space.create("configmaps", configMap("one"));
    const now = (await site.patch(path, { data: { key: "new" } })).is(200);
    (await site.delete(path, { preconditions: { resourceVersion: old.version } })).fails(409, "Conflict");
    const half = { uid: now.uid, resourceVersion: old.version };
    (await site.delete(path, { preconditions: half })).fails(409, "Conflict");
    (await site.delete(path, { preconditions: { uid: "another", resourceVersion: now.version } })).fails(
      409,
      "Conflict",
    );
    (await site.get(path)).is(200);
    const both = { uid: now.uid, resourceVersion: now.version };
    const gone = (await site.delete(path, { preconditions: both })).is(200);
    gone.same("uid of what was deleted", textAt(gone.body, "details", "uid"), now.uid);
  }),
];
