import { textAt } from "../../../agent/api/json.ts";
import type { Ground, Space } from "../ground.ts";
import { at, boundPod, lease, node, pod } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";
import { same } from "../unmet.ts";

const labelled: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  a: { app: "web", tier: "front", size: "3" },
  b: { app: "web", tier: "back", size: "11" },
  c: { app: "db" },
  d: {},
  e: { app: "" },
};

async function leasesWithLabels(space: Space): Promise<void> {
  for (const [name, labels] of Object.entries(labelled)) await space.create("leases", lease(name, {}, { labels }));
}

const relabel = async (
  site: Ground,
  space: Space,
  name: string,
  labels: { readonly [name: string]: string | null },
): Promise<void> => {
  (await site.patch(space.at("leases", name), { metadata: { labels } })).is(200);
};

export const selectorRules: readonly Rule[] = [
  rule("label-selectors", "label selectors select by value, by set, by presence, and by combinations", async (site) => {
    const space = await site.space();
    await leasesWithLabels(space);
    const selected: Readonly<Record<string, string>> = {
      "": "abcde",
      "app=web": "ab",
      "app==web": "ab",
      "app!=web": "cde",
      "app in (web,db)": "abc",
      "app in (web, db),tier": "ab",
      "app notin (web)": "cde",
      "app notin (web,db)": "de",
      app: "abce",
      "!app": "d",
      "app=": "e",
      "app=web,tier=back": "b",
      "app=web,tier!=back": "a",
      "tier in (front,back),app=web,!none": "ab",
      "app=web,app=db": "",
      "size>3": "b",
      "size<11": "a",
      "unknown=x": "",
      "unknown!=x": "abcde",
    };
    for (const [labelSelector, names] of Object.entries(selected)) {
      (await site.get(space.at("leases"), { labelSelector })).lists([...names]);
    }
  }),
  rule(
    "label-selectors-wrong",
    "an invalid label selector is refused with 400, and never selects everything",
    async (site) => {
      const space = await site.space();
      await leasesWithLabels(space);
      for (const labelSelector of [
        "app in web",
        "app in (",
        "=web",
        "app=not valid",
        "not valid",
        "app,,tier",
        "a/b/c=x",
      ]) {
        (await site.get(space.at("leases"), { labelSelector })).fails(400, "BadRequest");
        (await site.delete(space.at("leases"), undefined, { labelSelector })).fails(400, "BadRequest");
      }
      (await site.get(space.at("leases"))).lists(["a", "b", "c", "d", "e"]);
    },
  ),
  rule(
    "field-selectors",
    "field selectors select by name, namespace and the further fields of a kind",
    async (site) => {
      const space = await site.space();
      for (const name of ["a", "b"]) await space.create("pods", boundPod(name, { nodeName: `conformance-${name}` }));
      await space.create("pods", pod("c"));
      (await site.patch(space.at("pods", "b", "status"), { status: { phase: "Running" } })).is(200);
      const selected: Readonly<Record<string, string>> = {
        "metadata.name=a": "a",
        "metadata.name!=a": "bc",
        [`metadata.namespace=${space.name}`]: "abc",
        "metadata.namespace=other": "",
        "spec.nodeName=conformance-a": "a",
        "spec.nodeName==conformance-b": "b",
        "spec.nodeName!=": "ab",
        "spec.nodeName=": "c",
        "status.phase=Running": "b",
        "status.phase!=Running": "ac",
        "status.phase!=Running,spec.nodeName!=": "a",
        "spec.schedulerName=conformance-none,metadata.name!=b": "ac",
        "spec.restartPolicy=Always": "abc",
      };
      for (const [fieldSelector, names] of Object.entries(selected)) {
        (await site.get(space.at("pods"), { fieldSelector })).lists([...names]);
      }
      const all = (
        await site.get(at("pods"), { fieldSelector: `spec.nodeName=conformance-a,metadata.namespace=${space.name}` })
      ).is(200);
      all.same("names among all namespaces", all.names, ["a"]);
    },
  ),
  rule("field-selectors-of-boards", "boards are selected by spec.unschedulable", async (site) => {
    const [open, closed] = [site.name(), site.name()];
    await site.make("nodes", { ...node(open), metadata: { name: open } });
    await site.make("nodes", { ...node(closed, { unschedulable: true }), metadata: { name: closed } });
    const cordoned = (await site.get(at("nodes"), { fieldSelector: "spec.unschedulable=true" })).is(200);
    cordoned.holds(
      "the cordoned board and not the other",
      cordoned.names,
      cordoned.names.includes(closed) && !cordoned.names.includes(open),
    );
    (await site.get(at("nodes"), { fieldSelector: `metadata.name=${open}` })).lists([open]);
  }),
  rule("field-selectors-wrong", "an unsupported field is refused with 400", async (site) => {
    const space = await site.space();
    for (const fieldSelector of ["spec.containers=x", "metadata.labels=x", "nonsense", "metadata.name"]) {
      (await site.get(space.at("pods"), { fieldSelector })).fails(400, "BadRequest");
    }
    (await site.get(space.at("leases"), { fieldSelector: "spec.holderIdentity=x" })).fails(400, "BadRequest");
  }),
  rule(
    "watch-selected",
    "a watch with a selector sends ADDED for an object that enters it and DELETED for one that leaves: its cache stays right",
    async (site) => {
      const space = await site.space();
      await leasesWithLabels(space);
      const list = (await site.get(space.at("leases"), { labelSelector: "app=web" })).lists(["a", "b"]);
      const watch = await site.watch(space.at("leases"), { resourceVersion: list.version, labelSelector: "app=web" });
      await relabel(site, space, "c", { app: "web" });
      await relabel(site, space, "c", { tier: "front" });
      await relabel(site, space, "a", { app: "db" });
      await relabel(site, space, "a", { tier: null });
      await relabel(site, space, "d", { tier: "front" });
      await relabel(site, space, "a", { app: "web" });
      await relabel(site, space, "b", { app: null });
      (await site.delete(space.at("leases", "d"))).is(200);
      (await site.delete(space.at("leases", "b"))).is(200);
      (await site.delete(space.at("leases", "c"))).is(200);
      await space.create("leases", lease("y"));
      await space.create("leases", lease("z", {}, { labels: { app: "web" } }));
      const expected = ["ADDED c", "MODIFIED c", "DELETED a", "ADDED a", "DELETED b", "DELETED c", "ADDED z"];
      same(watch.request, "events", await watch.tells(expected.length), expected);
      const late = await site.watch(space.at("leases"), { resourceVersion: list.version, labelSelector: "app=web" });
      same(late.request, "events of one that came late", await late.tells(expected.length), expected);
    },
  ),
  rule(
    "watch-left",
    "the DELETED event of an object that leaves a selection has its last selected state, at the version of the change",
    async (site) => {
      const space = await site.space();
      const created = await space.create("leases", lease("a", { holderIdentity: "pi-1" }, { labels: { app: "web" } }));
      const watch = await site.watch(space.at("leases"), {
        resourceVersion: created.version,
        labelSelector: "app=web",
      });
      const { version } = (await site.patch(space.at("leases", "a"), { metadata: { labels: { app: "db" } } })).is(200);
      const event = await watch.next("DELETED a");
      same(watch.request, "type", event.type, "DELETED");
      same(watch.request, "uid", textAt(event.object, "metadata", "uid"), created.uid);
      same(watch.request, "label", textAt(event.object, "metadata", "labels", "app"), "web");
      same(watch.request, "version", textAt(event.object, "metadata", "resourceVersion"), version);
    },
  ),
  rule("watch-by-fields", "a watch of one board's pods includes a pod from its binding on", async (site) => {
    const space = await site.space();
    await space.create("pods", boundPod("elsewhere"));
    await space.create("pods", pod("one"));
    const mine = `conformance-${space.name}`.slice(0, 60);
    const { version } = (await site.get(space.at("pods"), { fieldSelector: `spec.nodeName=${mine}` })).lists([]);
    const watch = await site.watch(space.at("pods"), {
      resourceVersion: version,
      fieldSelector: `spec.nodeName=${mine}`,
    });
    (await site.patch(space.at("pods", "elsewhere", "status"), { status: { phase: "Running" } })).is(200);
    const binding = {
      kind: "Binding",
      apiVersion: "v1",
      metadata: { name: "one" },
      target: { kind: "Node", name: mine },
    };
    (await site.post(space.at("pods", "one", "binding"), binding)).is(201);
    (await site.patch(space.at("pods", "one", "status"), { status: { phase: "Running" } })).is(200);
    (await site.delete(space.at("pods", "one"), { gracePeriodSeconds: 0 })).is(200);
    const events = await watch.upTo(({ type }) => type === "DELETED", "DELETED one");
    const types = events.map(({ type, object }) => `${type} ${textAt(object, "metadata", "name")}`);
    same(
      watch.request,
      "events",
      types.filter((one, i) => one !== types[i - 1]),
      ["ADDED one", "MODIFIED one", "DELETED one"],
    );
  }),
  rule("watch-initial-selected", "the initial events of a watch follow its selector", async (site) => {
    const space = await site.space();
    await leasesWithLabels(space);
    const { version } = (await site.get(space.at("leases"))).is(200);
    (await site.get(space.at("leases"), { resourceVersion: version, resourceVersionMatch: "NotOlderThan" })).is(200);
    const watch = await site.watch(space.at("leases"), { labelSelector: "app in (db,other)" });
    same(watch.request, "what is there", await watch.tells(1), ["ADDED c"]);
    await relabel(site, space, "d", { app: "db" });
    same(watch.request, "what happens", await watch.tells(1), ["ADDED d"]);
  }),
];
