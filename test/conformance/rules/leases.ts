import { textAt, valueAt } from "../../../agent/api/json.ts";
import { jsonPatch, lease, partialListType, partialType } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";
import { same } from "../unmet.ts";
import { versionOf } from "../watch-stream.ts";

export const leaseRules: readonly Rule[] = [
  rule(
    "lease-micro-time",
    "the times of a Lease are kept to the microsecond: a change of them is a heartbeat",
    async (site) => {
      const space = await site.space();
      const path = space.at("leases", "one");
      const spec = {
        holderIdentity: "pi-1",
        leaseDurationSeconds: 40,
        acquireTime: "2026-01-02T03:04:05.000001Z",
        renewTime: "2026-01-02T03:04:05.999999Z",
        leaseTransitions: 3,
      };
      const created = await space.create("leases", lease("one", spec));
      created.shows(spec, "spec");
      for (const renewTime of [
        "2026-01-02T03:04:06.000000Z",
        "2026-01-02T03:04:06.000001Z",
        "1970-01-01T00:00:07.100000Z",
        "2126-01-02T03:04:06.123450Z",
      ]) {
        const renewed = (await site.patch(path, { spec: { renewTime } })).is(200);
        renewed.shows({ ...spec, renewTime }, "spec");
        (await site.get(path)).shows({ ...spec, renewTime }, "spec");
        const read = (await site.get(path)).is(200);
        const put = (await site.put(path, { ...read.body, spec: { ...spec, renewTime, leaseTransitions: 4 } })).is(200);
        put.shows(renewTime, "spec", "renewTime");
        (await site.put(path, { ...put.body, spec: { ...spec, renewTime } })).is(200);
      }
    },
  ),
  rule(
    "lease-renewal",
    "each renewal is a separate write with a higher version and an event for watches",
    async (site) => {
      const space = await site.space();
      const path = space.at("leases", "one");
      await space.create("leases", lease("one", { holderIdentity: "pi-1", leaseDurationSeconds: 40 }));
      const watch = await site.watch(space.at("leases"), {
        resourceVersion: (await site.get(space.at("leases"))).version,
      });
      const times = Array.from({ length: 10 }, (_, i) => `2026-01-02T03:04:05.00000${i}Z`);
      const renewals: string[] = [];
      for (const renewTime of times) {
        renewals.push(`${renewTime} ${(await site.patch(path, { spec: { renewTime } })).is(200).version}`);
      }
      const events: string[] = [];
      while (events.length < times.length) {
        const event = await watch.next("ten renewals");
        events.push(`${textAt(event.object, "spec", "renewTime")} ${versionOf(event)}`);
      }
      same(watch.request, "renewals", events, renewals);
      same(watch.request, "how many versions", new Set(events.map((one) => one.split(" ")[1])).size, times.length);
    },
  ),
  rule("lease-taken-over", "a Lease is taken over only by an update from its latest state", async (site) => {
    const space = await site.space();
    const path = space.at("leases", "one");
    await space.create("leases", lease("one", { holderIdentity: "pi-1", leaseTransitions: 0 }));
    const seen = (await site.get(path)).is(200);
    const by = (holderIdentity: string) => ({ ...seen.body, spec: { holderIdentity, leaseTransitions: 1 } });
    const answers = await Promise.all(["pi-2", "pi-3", "pi-4"].map((holder) => site.put(path, by(holder))));
    seen.same("statuses", answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
    const winner = answers.find(({ status }) => status === 200);
    (await site.get(path))
      .shows(winner?.at("spec", "holderIdentity"), "spec", "holderIdentity")
      .shows(1, "spec", "leaseTransitions");
    // A patch tests the version of the read.
    const test = [
      { op: "test", path: "/metadata/resourceVersion", value: seen.version },
      { op: "replace", path: "/spec/holderIdentity", value: "late" },
    ];
    (await site.patch(path, test, jsonPatch)).fails(422, "Invalid");
  }),
  rule("lease-released", "a holder releases a Lease by an empty identity or none; annotations stay", async (site) => {
    const space = await site.space();
    const path = space.at("leases", "one");
    const annotations = { "siteward.test/budget": '{"east":0.5}' };
    await space.create("leases", lease("one", { holderIdentity: "pi-1", leaseDurationSeconds: 15 }, { annotations }));
    const released = (await site.patch(path, { spec: { holderIdentity: "", leaseDurationSeconds: 1 } })).is(200);
    released
      .shows({ holderIdentity: "", leaseDurationSeconds: 1 }, "spec")
      .shows(annotations, "metadata", "annotations");
    (await site.patch(path, { spec: { holderIdentity: null } })).shows({ leaseDurationSeconds: 1 }, "spec");
    (await site.patch(path, { spec: null })).is(200).shows(annotations, "metadata", "annotations");
  }),
  rule("lease-checked", "a Lease with an invalid duration or times is refused", async (site) => {
    const space = await site.space();
    for (const spec of [{ leaseDurationSeconds: 0 }, { leaseDurationSeconds: -1 }, { leaseTransitions: -1 }]) {
      (await site.post(space.at("leases"), lease("one", { holderIdentity: "a", ...spec }))).fails(422, "Invalid");
    }
    for (const spec of [
      { renewTime: "yesterday" },
      { renewTime: 5 },
      { leaseDurationSeconds: "40" },
      { leaseDurationSeconds: 1.5 },
      { holderIdentity: 5 },
    ]) {
      (await site.post(space.at("leases"), lease("one", spec))).fails(400, "BadRequest");
    }
    (await site.get(space.at("leases"))).lists([]);
  }),
  rule("lease-metadata", "a Lease can be read, written and watched by its metadata alone", async (site) => {
    const space = await site.space();
    const spec = { holderIdentity: "pi-1", renewTime: "2026-01-02T03:04:05.000001Z" };
    const created = await space.create("leases", lease("one", spec, { labels: { a: "b" } }));
    const read = (await site.get(space.at("leases", "one"), {}, { accept: partialType })).is(200);
    read.shows("PartialObjectMetadata", "kind").shows("meta.k8s.io/v1", "apiVersion").shows(undefined, "spec");
    read.shows(created.at("metadata"), "metadata");
    const list = (await site.get(space.at("leases"), {}, { accept: partialListType })).lists(["one"]);
    list.shows("PartialObjectMetadataList", "kind").same("spec of the item", valueAt(list.items[0], "spec"), undefined);
    const watch = await site.watch(space.at("leases"), { resourceVersion: list.version }, partialType);
    const asked = {
      body: { spec: { renewTime: "2026-01-02T03:04:06.000001Z" } },
      type: "application/merge-patch+json",
      headers: { accept: partialType },
    };
    const patched = (await site.client.ask("PATCH", space.at("leases", "one"), asked)).is(200);
    patched.shows("PartialObjectMetadata", "kind").shows(undefined, "spec");
    const event = await watch.next("MODIFIED one");
    same(watch.request, "type", event.type, "MODIFIED");
    same(watch.request, "kind", textAt(event.object, "kind"), "PartialObjectMetadata");
    same(watch.request, "version", textAt(event.object, "metadata", "resourceVersion"), patched.version);
    (await site.get(space.at("leases", "one"))).shows("2026-01-02T03:04:06.000001Z", "spec", "renewTime");
  }),
  rule(
    "lease-by-update",
    "an update of a missing Lease creates it, whatever version it names: heartbeats begin this way",
    async (site) => {
      const space = await site.space();
      const put = await site.put(space.at("leases", "one"), lease("one", { holderIdentity: "a" }));
      put.is(201).shows("a", "spec", "holderIdentity");
      const versioned = lease("two", { holderIdentity: "b" }, { resourceVersion: put.version });
      (await site.put(space.at("leases", "two"), versioned)).is(201).shows("b", "spec", "holderIdentity");
    },
  ),
];
