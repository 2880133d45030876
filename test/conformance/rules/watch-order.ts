import { textAt } from "../../../agent/api/json.ts";
import type { Ground, Space } from "../ground.ts";
import { at, configMap, lease, node, pod } from "../objects.ts";
import { type Rule, rule, ruleAlone } from "../rule.ts";
import { holds, same } from "../unmet.ts";
import { type Event, eventText, versionOf, type WatchStream } from "../watch-stream.ts";

/** The current version of the collection: a watch from here sends all later changes. */
const versionNow = async (site: Ground, path: string): Promise<string> => (await site.get(path)).is(200).version;

/** One write as its own answer told it, or "" where the answer does not say the version (a deletion). */
interface Written {
  readonly eventText: string;
  readonly version: string;
}

/** Creates, changes, deletes and recreates several objects, interleaved. Yields the expected events. */
async function writes(site: Ground, space: Space): Promise<readonly Written[]> {
  const written: Written[] = [];
  const create = async (name: string): Promise<void> => {
    const { version } = await space.create("leases", lease(name));
    written.push({ eventText: `ADDED ${name}`, version });
  };
  const change = async (name: string, holderIdentity: string): Promise<void> => {
    const { version } = (await site.patch(space.at("leases", name), { spec: { holderIdentity } })).is(200);
    written.push({ eventText: `MODIFIED ${name}`, version });
  };
  const remove = async (name: string): Promise<void> => {
    (await site.delete(space.at("leases", name))).is(200);
    written.push({ eventText: `DELETED ${name}`, version: "" });
  };
  await create("a");
  await create("b");
  for (let i = 0; i < 5; i++) {
    await change("a", `a-${i}`);
    await change("b", `b-${i}`);
    await change("b", `b-${i} again`);
  }
  await remove("a");
  await create("c");
  await create("a");
  await change("a", "anew");
  await remove("b");
  await change("c", "c");
  await remove("a");
  await remove("c");
  await create("z");
  return written;
}

/** Events as the writes were answered; versions that only rise. */
function checkOrder(request: string, events: readonly Event[], written: readonly Written[]): void {
  same(
    request,
    "events, in this order",
    events.map(eventText),
    written.map((one) => one.eventText),
  );
  const versions = events.map(versionOf);
  const known = versions.map((version, i) => written[i]?.version || version);
  same(request, "their versions, as the writes were answered", versions, known);
  const falls = versions.findIndex((version, i) => i > 0 && BigInt(version) <= BigInt(versions[i - 1] ?? "0"));
  holds(request, "versions that rise from event to event", versions, falls < 0);
}

const upTo = (watch: WatchStream, name: string): Promise<readonly Event[]> =>
  watch.upTo((event) => eventText(event) === `ADDED ${name}`, `ADDED ${name}`);

export const watchOrderRules: readonly Rule[] = [
  rule(
    "watch-order",
    "a watch sends every write once, in order, with the state and version of its answer",
    async (site) => {
      const space = await site.space();
      const watch = await site.watch(space.at("leases"), {
        resourceVersion: await versionNow(site, space.at("leases")),
      });
      const written = await writes(site, space);
      checkOrder(watch.request, await upTo(watch, "z"), written);
    },
  ),
  rule(
    "watch-late",
    "a watch from an earlier version sends the same events as one that was always open",
    async (site) => {
      const space = await site.space();
      const resourceVersion = await versionNow(site, space.at("leases"));
      const written = await writes(site, space);
      const watch = await site.watch(space.at("leases"), { resourceVersion });
      checkOrder(watch.request, await upTo(watch, "z"), written);
    },
  ),
  rule("watch-objects", "an event has the complete object as written, with its kind", async (site) => {
    const space = await site.space();
    const watch = await site.watch(space.at("configmaps"), {
      resourceVersion: await versionNow(site, space.at("configmaps")),
    });
    const created = await space.create(
      "configmaps",
      configMap("one", { key: "a", text: "ü 雪 </p> \u2028" }, { labels: { app: "web" } }),
    );
    const changed = (await site.patch(space.at("configmaps", "one"), { data: { key: "b" } })).is(200);
    const own = async (): Promise<Event> => {
      const events = await watch.upTo((event) => textAt(event.object, "metadata", "name") === "one", "an event of one");
      return events.at(-1) ?? { type: "", object: {} };
    };
    same(watch.request, "the first event", await own(), { type: "ADDED", object: created.body });
    same(watch.request, "the second event", await own(), { type: "MODIFIED", object: changed.body });
    (await site.delete(space.at("configmaps", "one"))).is(200);
    const { type, object } = await own();
    const last = {
      ...changed.body,
      metadata: { ...Object(changed.at("metadata")), resourceVersion: textAt(object, "metadata", "resourceVersion") },
    };
    same(watch.request, "the last event: the last state", { type, object }, { type: "DELETED", object: last });
    holds(
      watch.request,
      `a version above ${changed.version}`,
      versionOf({ type, object }),
      BigInt(versionOf({ type, object })) > BigInt(changed.version),
    );
  }),
  rule("watch-anew", "a recreated object is DELETED and ADDED, with another uid", async (site) => {
    const space = await site.space();
    const watch = await site.watch(space.at("leases"), {
      resourceVersion: await versionNow(site, space.at("leases")),
    });
    const uids: string[] = [];
    for (let i = 0; i < 5; i++) {
      uids.push((await space.create("leases", lease("one"))).uid);
      (await site.delete(space.at("leases", "one"))).is(200);
    }
    await space.leases("z");
    const events = await upTo(watch, "z");
    const seen = events.slice(0, -1).map((event) => `${event.type} ${textAt(event.object, "metadata", "uid")}`);
    same(
      watch.request,
      "events",
      seen,
      uids.flatMap((uid) => [`ADDED ${uid}`, `DELETED ${uid}`]),
    );
    same(watch.request, "uids, each another", new Set(uids).size, uids.length);
  }),
  rule("watch-no-change", "a write without a change sends no event", async (site) => {
    const space = await site.space();
    await space.leases("one");
    const watch = await site.watch(space.at("leases"), { resourceVersion: await versionNow(site, space.at("leases")) });
    for (let i = 0; i < 3; i++) (await site.patch(space.at("leases", "one"), { metadata: { name: "one" } })).is(200);
    (await site.get(space.at("leases", "one"))).is(200);
    (await site.post(space.at("leases"), lease("one"))).fails(409, "AlreadyExists");
    (await site.patch(space.at("leases", "two"), { spec: { holderIdentity: "nobody" } })).fails(404, "NotFound");
    await space.leases("z");
    same(watch.request, "events", (await upTo(watch, "z")).map(eventText), ["ADDED z"]);
  }),
  ruleAlone(
    "watch-burst",
    "under a burst of writers all watches send each write once, in the same order",
    async (site) => {
      const space = await site.space();
      const path = space.at("leases");
      const resourceVersion = await versionNow(site, path);
      const early = await site.watch(path, { resourceVersion });
      const written = new Map<string, string>();
      const writer = async (name: string): Promise<void> => {
        written.set((await space.create("leases", lease(name))).version, `ADDED ${name}`);
        for (let i = 0; i < 30; i++) {
          const answer = (await site.patch(space.at("leases", name), { spec: { holderIdentity: `${name}-${i}` } })).is(
            200,
          );
          written.set(answer.version, `MODIFIED ${name}`);
        }
      };
      const writers = Array.from({ length: 10 }, (_, i) => writer(`lease-${i}`));
      const [amid] = await Promise.all([site.watch(path, { resourceVersion }), ...writers]);
      const late = await site.watch(path, { resourceVersion });
      await space.leases("z");
      const expected = [...written]
        .toSorted(([a], [b]) => Number(BigInt(a) - BigInt(b)))
        .map(([version, one]) => `${version} ${one}`);
      for (const watch of [early, amid, late]) {
        const events = (await upTo(watch, "z")).slice(0, -1).map((event) => `${versionOf(event)} ${eventText(event)}`);
        same(watch.request, "events", events, expected);
      }
    },
  ),
  rule(
    "watch-boards",
    "boards and pods of all namespaces are also sent in order, including their status",
    async (site) => {
      const space = await site.space();
      const name = site.name();
      const [boards, pods] = [
        await site.watch(at("nodes"), { resourceVersion: await versionNow(site, at("nodes")) }),
        await site.watch(at("pods"), { resourceVersion: await versionNow(site, at("pods")) }),
      ];
      const versions = [(await site.make("nodes", { ...node(name), metadata: { name } })).version];
      const status = { conditions: [{ type: "Ready", status: "True" }] };
      versions.push((await site.patch(at("nodes", undefined, name, "status"), { status })).is(200).version);
      versions.push(
        (await site.patch(at("nodes", undefined, name), { metadata: { labels: { zone: "east" } } })).is(200).version,
      );
      await site.remove(at("nodes", undefined, name));
      const events = await ownUntilGone(boards, name);
      same(
        boards.request,
        "events of the board",
        events.map(({ type }) => type),
        ["ADDED", "MODIFIED", "MODIFIED", "DELETED"],
      );
      same(boards.request, "their versions", events.slice(0, 3).map(versionOf), versions);
      await space.create("pods", pod(name));
      (await site.patch(space.at("pods", name, "status"), { status: { phase: "Running" } })).is(200);
      (await site.delete(space.at("pods", name))).is(200);
      const types = (await ownUntilGone(pods, name)).map(
        ({ type, object }) => `${type} ${textAt(object, "status", "phase")}`,
      );
      // An unbound pod is removed at once; watches may get its mark first.
      const brief = types.filter((type, i) => type !== types[i - 1]);
      same(pods.request, "events of the pod", brief, ["ADDED Pending", "MODIFIED Running", "DELETED Running"]);
    },
  ),
];

/** Events of one object, up to its deletion. */
async function ownUntilGone(watch: WatchStream, name: string): Promise<readonly Event[]> {
  const isOwn = ({ object }: Event): boolean => textAt(object, "metadata", "name") === name;
  const events = await watch.upTo((event) => isOwn(event) && event.type === "DELETED", `DELETED ${name}`);
  return events.filter(isOwn);
}
