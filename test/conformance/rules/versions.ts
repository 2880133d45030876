import { lease } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";

/** A version that no server has reached. */
const farAhead = 1_000_000_000;

export const versionRules: readonly Rule[] = [
  rule("version-rises", "every write of an object gives it a new, higher resourceVersion", async (site) => {
    const space = await site.space();
    const path = space.at("leases", "one");
    let last = (await space.create("leases", lease("one"))).version;
    for (const holderIdentity of ["a", "b", "c"]) {
      const patched = (await site.patch(path, { spec: { holderIdentity } })).is(200);
      patched.holds(`a version above ${last}`, patched.version, BigInt(patched.version) > BigInt(last));
      last = patched.version;
      (await site.get(path)).shows(last, "metadata", "resourceVersion");
    }
  }),
  rule("version-of-no-change", "a write without a change keeps the resourceVersion", async (site) => {
    const space = await site.space();
    const path = space.at("configmaps", "one");
    const created = await space.create("configmaps", {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "one" },
      data: { key: "a" },
    });
    (await site.patch(path, { data: { key: "a" } })).shows(created.version, "metadata", "resourceVersion");
    (await site.put(path, created.body)).shows(created.version, "metadata", "resourceVersion");
    (await site.patch(path, {})).is(200).shows(created.version, "metadata", "resourceVersion");
  }),
  rule("version-unset", "without a resourceVersion, reads and lists return the newest state", async (site) => {
    const space = await site.space();
    await space.leases("one");
    for (let i = 0; i < 10; i++) {
      const holderIdentity = `holder-${i}`;
      const { version } = (await site.patch(space.at("leases", "one"), { spec: { holderIdentity } })).is(200);
      (await site.get(space.at("leases", "one"))).shows(holderIdentity, "spec", "holderIdentity");
      const list = (await site.get(space.at("leases"))).is(200);
      list.holds(`version ${version} or later`, list.version, BigInt(list.version) >= BigInt(version));
    }
  }),
  rule("version-any", "resourceVersion 0 returns some former or current state at once", async (site) => {
    const space = await site.space();
    const [one] = await space.leases("one");
    const newest = (await site.get(space.at("leases"))).is(200).version;
    // A cache behind it may be late; what is asked for is not older than what was just seen.
    (await site.get(space.at("leases"), { resourceVersion: newest, resourceVersionMatch: "NotOlderThan" })).lists([
      "one",
    ]);
    const any = (await site.get(space.at("leases"), { resourceVersion: 0 })).lists(["one"]);
    any.holds("a version of a list", any.version, /^[1-9]\d*$/.test(any.version));
    const read = (await site.get(space.at("leases", "one"), { resourceVersion: 0 })).is(200);
    read.same("the object", read.body, one?.body);
    (await site.get(space.at("leases"), { resourceVersion: 0, resourceVersionMatch: "NotOlderThan" })).lists(["one"]);
  }),
  rule(
    "version-exact",
    "an exact resourceVersion returns the state of that version, despite later writes",
    async (site) => {
      const space = await site.space();
      const leases = space.at("leases");
      await space.leases("a", "b");
      const then = (await site.get(leases)).lists(["a", "b"]);
      (await site.delete(space.at("leases", "a"))).is(200);
      (await site.patch(space.at("leases", "b"), { spec: { holderIdentity: "later" } })).is(200);
      await space.leases("c");
      const exact = (await site.get(leases, { resourceVersion: then.version, resourceVersionMatch: "Exact" })).lists([
        "a",
        "b",
      ]);
      exact.same("the items", exact.items, then.items).shows(then.version, "metadata", "resourceVersion");
      (await site.get(leases)).lists(["b", "c"]);
    },
  ),
  rule("version-not-older", "resourceVersionMatch NotOlderThan includes the state of that version", async (site) => {
    const space = await site.space();
    for (const name of ["a", "b", "c", "d"]) {
      const { version } = await space.create("leases", lease(name));
      const query = { resourceVersion: version, resourceVersionMatch: "NotOlderThan" };
      const list = (await site.get(space.at("leases"), query)).is(200);
      list.holds(`${name} among the names`, list.names, list.names.includes(name));
      list.holds(`version ${version} or later`, list.version, BigInt(list.version) >= BigInt(version));
      (await site.get(space.at("leases", name), { resourceVersion: version })).is(200);
    }
  }),
  rule(
    "version-too-large",
    "a resourceVersion in the future gets 504 Timeout with the cause ResourceVersionTooLarge: the reader retries",
    async (site) => {
      const space = await site.space();
      const [one] = await space.leases("one");
      const resourceVersion = String(BigInt(one?.version ?? "0") + BigInt(farAhead));
      const answers = await Promise.all([
        site.get(space.at("leases"), { resourceVersion }),
        site.get(space.at("leases"), { resourceVersion, resourceVersionMatch: "NotOlderThan" }),
        site.get(space.at("leases", "one"), { resourceVersion }),
      ]);
      for (const answer of answers) {
        const causes = JSON.stringify(answer.fails(504, "Timeout").at("details", "causes") ?? []);
        answer.holds("the cause ResourceVersionTooLarge", causes, causes.includes("ResourceVersionTooLarge"));
      }
    },
  ),
  rule("version-unreadable", "a resourceVersion that is not a number is refused with 400", async (site) => {
    const space = await site.space();
    for (const resourceVersion of ["abc", "-1", "1.5"]) {
      (await site.get(space.at("leases"), { resourceVersion })).fails(400, "BadRequest");
    }
  }),
  rule("version-match", "an invalid resourceVersionMatch is refused with 422", async (site) => {
    const space = await site.space();
    const { version } = (await site.get(space.at("leases"))).is(200);
    for (const query of [
      { resourceVersionMatch: "Exact" },
      { resourceVersionMatch: "NotOlderThan" },
      { resourceVersion: version, resourceVersionMatch: "Newest" },
      { resourceVersion: 0, resourceVersionMatch: "Exact" },
    ]) {
      (await site.get(space.at("leases"), query)).fails(422, "Invalid");
    }
  }),
];
