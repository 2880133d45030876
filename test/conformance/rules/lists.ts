import { numberAt, textAt, valueAt } from "../../../agent/api/json.ts";
import type { Query } from "../client.ts";
import { at, configMap, lease, mergePatch } from "../objects.ts";
import { type Rule, rule, ruleAlone } from "../rule.ts";
import { same } from "../unmet.ts";

export const listRules: readonly Rule[] = [
  rule(
    "list-after-write",
    "a list includes every write that was answered before it: decisions rely on just written objects",
    async (site) => {
      const space = await site.space();
      const leases = space.at("leases");
      await space.leases("one", "two");
      (await site.get(leases)).lists(["one", "two"]);
      await site.patch(space.at("leases", "one"), { spec: { holderIdentity: "new" } });
      const changed = (await site.get(leases)).is(200);
      changed.same("spec of the first item", valueAt(changed.items[0], "spec"), { holderIdentity: "new" });
      (await site.delete(space.at("leases", "two"))).is(200);
      (await site.get(leases)).lists(["one"]);
    },
  ),
  rule(
    "list-shape",
    "a list has a kind and a version, and its items are complete objects: readers rely on it",
    async (site) => {
      const space = await site.space();
      const [created] = await space.leases("one");
      const list = (await site.get(space.at("leases"))).is(200);
      list.shows("LeaseList", "kind").shows("coordination.k8s.io/v1", "apiVersion");
      list.same("metadata of the item", valueAt(list.items[0], "metadata"), created?.at("metadata"));
      const pods = (await site.get(at("pods", site.name()))).is(200);
      pods.shows("PodList", "kind").shows("v1", "apiVersion").shows([], "items");
    },
  ),
  rule(
    "list-version",
    "the resourceVersion of a list is not older than that of any of its items: a watch continues from it",
    async (site) => {
      const space = await site.space();
      await space.leases("one", "two", "three");
      await site.patch(space.at("leases", "two"), { spec: { holderIdentity: "new" } });
      const list = (await site.get(space.at("leases"))).is(200);
      const versions = list.items.map((item) => BigInt(textAt(item, "metadata", "resourceVersion")));
      const newest = versions.reduce((one, other) => (one > other ? one : other), 0n);
      list.holds(`a list at ${newest} or later`, list.version, BigInt(list.version) >= newest);
    },
  ),
  rule("list-order", "a list is ordered by namespace and name: pages continue by it", async (site) => {
    const space = await site.space();
    const names = ["b", "a-b", "a", "a.b", "c", "a0", "ab"];
    await space.leases(...names);
    const list = (await site.get(space.at("leases"))).is(200);
    list.same("names", list.names, ["a", "a-b", "a.b", "a0", "ab", "b", "c"]);
    const all = (await site.get(at("leases"))).is(200);
    const keys = all.items.map(
      (item) => `${textAt(item, "metadata", "namespace")}/${textAt(item, "metadata", "name")}`,
    );
    all.same("order", keys, keys.toSorted());
  }),
  rule(
    "list-scope",
    "the list of a namespace has only its objects, the list of all has those of every namespace",
    async (site) => {
      const [here, there] = [await site.space(), await site.space()];
      await here.leases("same", "here");
      await there.leases("same");
      (await site.get(here.at("leases"))).lists(["here", "same"]);
      const all = (await site.get(at("leases"))).is(200);
      const ours = all.items
        .map((item) => `${textAt(item, "metadata", "namespace")}/${textAt(item, "metadata", "name")}`)
        .filter((key) => key.startsWith(`${here.name}/`) || key.startsWith(`${there.name}/`));
      const expected = [`${here.name}/here`, `${here.name}/same`, `${there.name}/same`];
      all.same("own objects among all", ours, expected.toSorted());
      (await site.get(at("leases", site.name()))).is(200).shows([], "items");
    },
  ),
  rule("get-after-write", "a read returns the last written object in every member", async (site) => {
    const space = await site.space();
    const map = configMap(
      "one",
      { key: "first", text: 'a "b" ü 雪 \u0001 \\ </p>' },
      { labels: { app: "web" }, annotations: { note: "ok" } },
    );
    const created = await space.create("configmaps", map);
    created.shows(map.data, "data");
    const read = (await site.get(space.at("configmaps", "one"))).is(200);
    read.same("the object", read.body, created.body);
    const changed = (await site.patch(space.at("configmaps", "one"), { data: { key: "second" } }, mergePatch)).is(200);
    const again = (await site.get(space.at("configmaps", "one"))).is(200);
    again
      .same("the object", again.body, changed.body)
      .shows("second", "data", "key")
      .shows(read.at("data", "text"), "data", "text");
  }),
  ruleAlone(
    "list-consistent",
    "a list is one consistent state despite concurrent writes, and later lists are not older",
    async (site) => {
      const space = await site.space();
      await space.leases("first", "second");
      let writing = true;
      const count = async (name: string, leaseTransitions: number): Promise<void> => {
        (await site.patch(space.at("leases", name), { spec: { leaseTransitions } })).is(200);
      };
      const write = async (): Promise<void> => {
        for (let i = 1; i <= 60; i++) {
          await count("first", i);
          await count("second", i);
        }
        writing = false;
      };
      const read = async (query: Query): Promise<void> => {
        for (let last = 0n; writing; ) {
          const list = (await site.get(space.at("leases"), query)).lists(["first", "second"]);
          const [first = 0, second = 0] = list.items.map((item) => numberAt(item, "spec", "leaseTransitions") ?? 0);
          const together = first === second || first === second + 1;
          list.holds("the first as far as the second, or one ahead", `${first} and ${second}`, together);
          const versions = list.items.map((item) => BigInt(textAt(item, "metadata", "resourceVersion")));
          const fits = versions.every((version) => version <= BigInt(list.version));
          list.holds(`no item newer than ${list.version}`, versions.map(String), fits);
          if (Object.keys(query).length > 0) continue;
          list.holds(`a version not before ${last}`, list.version, BigInt(list.version) >= last);
          last = BigInt(list.version);
        }
      };
      await Promise.all([
        write().finally(() => {
          writing = false;
        }),
        read({}),
        read({ resourceVersion: 0 }),
      ]);
    },
  ),
  ruleAlone(
    "list-position",
    "the version of a list is that of the newest write in it, exactly: a watch from it gets the next write",
    async (site) => {
      const space = await site.space();
      for (let i = 0; i < 10; i++) {
        const list = (await site.get(space.at("leases"))).is(200);
        const next = await space.create("leases", lease(`lease-${i}`));
        list.holds(`a version before ${next.version}`, list.version, BigInt(list.version) < BigInt(next.version));
        const watch = await site.watch(space.at("leases"), { resourceVersion: list.version });
        await space.create("leases", lease(`fence-${i}`));
        same(watch.request, "events", await watch.tells(2), [`ADDED lease-${i}`, `ADDED fence-${i}`]);
        watch.close();
      }
    },
  ),
];
