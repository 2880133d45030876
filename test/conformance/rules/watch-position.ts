import { itemsAt, numberAt, textAt } from "../../../agent/api/json.ts";
import { Answer } from "../answer.ts";
import type { Ground, Space } from "../ground.ts";
import { at, lease } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";
import { holds, same, shown, Unmet } from "../unmet.ts";
import { type Event, eventText, versionOf } from "../watch-stream.ts";

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => `lease-${String(i).padStart(3, "0")}`);

export const watchPositionRules: readonly Rule[] = [
  rule(
    "watch-from-list",
    "a watch from a list's version begins right after it: nothing in between is lost or repeated",
    async (site) => {
      const space = await site.space();
      await space.leases("a", "b");
      const list = (await site.get(space.at("leases"))).lists(["a", "b"]);
      await space.leases("c");
      (await site.delete(space.at("leases", "a"))).is(200);
      const watch = await site.watch(space.at("leases"), { resourceVersion: list.version });
      await space.leases("z");
      same(watch.request, "events", await watch.tells(3), ["ADDED c", "DELETED a", "ADDED z"]);
    },
  ),
  rule("watch-from-object", "a watch from an object's version begins right after that write", async (site) => {
    const space = await site.space();
    const [, two] = await space.leases("one", "two", "three");
    const watch = await site.watch(space.at("leases"), { resourceVersion: two?.version ?? "" });
    await space.leases("z");
    same(watch.request, "events", await watch.tells(2), ["ADDED three", "ADDED z"]);
  }),
  rule(
    "watch-from-any",
    "a watch from resourceVersion 0, or from none, begins with the present objects as ADDED and continues from there",
    async (site) => {
      const space = await site.space();
      await space.leases("a", "b", "gone");
      (await site.patch(space.at("leases", "a"), { spec: { holderIdentity: "new" } })).is(200);
      (await site.delete(space.at("leases", "gone"))).is(200);
      // Any state may be slightly old, unlike this one.
      const version = (await site.get(space.at("leases"))).version;
      (await site.get(space.at("leases"), { resourceVersion: version, resourceVersionMatch: "NotOlderThan" })).is(200);
      for (const query of [{}, { resourceVersion: 0 }, { resourceVersion: "" }]) {
        const watch = await site.watch(space.at("leases"), query);
        const first = await watch.tells(2);
        same(watch.request, "what is there", first.toSorted(), ["ADDED a", "ADDED b"]);
        (await site.patch(space.at("leases", "b"), { spec: { holderIdentity: JSON.stringify(query) } })).is(200);
        same(watch.request, "what happens then", await watch.tells(1), ["MODIFIED b"]);
        watch.close();
      }
    },
  ),
  rule(
    "watch-resume",
    "a watch resumed from the last event sends the following ones without gaps or repetition",
    async (site) => {
      const space = await site.space();
      const path = space.at("leases");
      let { version } = (await site.get(path)).is(200);
      const seen: string[] = [];
      // The link is lost repeatedly, each time after another number of events.
      const read = async (): Promise<void> => {
        for (let cut = 1; seen.length < 80; cut = (cut % 7) + 1) {
          const watch = await site.watch(path, { resourceVersion: version });
          for (let i = 0; i < cut && seen.length < 80; i++) {
            const event = await watch.next(`80 events; ${seen.length} came: ${shown(seen)}`);
            holds(watch.request, "an event", event, event.type !== "ERROR");
            seen.push(eventText(event));
            version = versionOf(event);
          }
          watch.close();
        }
      };
      await Promise.all([written(site, space, names(40)), read()]);
      const expected = names(40).flatMap((name) => [`ADDED ${name}`, `MODIFIED ${name}`]);
      same(`GET ${path}?watch=true, resumed`, "all events", seen, expected);
    },
  ),
  rule("watch-resume-deleted", "a resumed watch sends deletions that happened in between", async (site) => {
    const space = await site.space();
    await space.leases("a", "b", "c");
    const { version } = (await site.get(space.at("leases"))).is(200);
    (await site.delete(space.at("leases", "b"))).is(200);
    await space.leases("d");
    (await site.delete(space.at("leases", "d"))).is(200);
    const watch = await site.watch(space.at("leases"), { resourceVersion: version });
    same(watch.request, "events", await watch.tells(3), ["DELETED b", "ADDED d", "DELETED d"]);
  }),
  rule("watch-two", "two watches of one collection send the same events", async (site) => {
    const space = await site.space();
    const { version } = (await site.get(space.at("leases"))).is(200);
    const watches = [
      await site.watch(space.at("leases"), { resourceVersion: version }),
      await site.watch(space.at("leases"), { resourceVersion: version }),
    ];
    await written(site, space, names(10));
    const [one, other] = [await watches[0]?.tells(20), await watches[1]?.tells(20)];
    same(watches[0]?.request ?? "", "events of both", one, other);
  }),
  rule(
    "watch-scope",
    "a watch of a namespace sends only its events, a watch of all namespaces those of each",
    async (site) => {
      const [here, there] = [await site.space(), await site.space()];
      const { version } = (await site.get(at("leases"))).is(200);
      const own = await site.watch(here.at("leases"), { resourceVersion: version });
      const all = await site.watch(at("leases"), { resourceVersion: version });
      await there.leases("there");
      await here.leases("here");
      await there.leases("there-too");
      await here.leases("z");
      same(own.request, "events", await own.tells(2), ["ADDED here", "ADDED z"]);
      const isLast = ({ object }: Event): boolean =>
        textAt(object, "metadata", "name") === "z" && textAt(object, "metadata", "namespace") === here.name;
      const events = await all.upTo(isLast, "ADDED z");
      const ours = events.filter(({ object }) =>
        [here.name, there.name].includes(textAt(object, "metadata", "namespace")),
      );
      same(all.request, "events", ours.map(eventText), ["ADDED there", "ADDED here", "ADDED there-too", "ADDED z"]);
    },
  ),
  rule("watch-one", "a watch with a field selector for one name sends only that object's events", async (site) => {
    const space = await site.space();
    await space.leases("one", "other");
    const { version } = (await site.get(space.at("leases"), { fieldSelector: "metadata.name=one" })).lists(["one"]);
    const watch = await site.watch(space.at("leases"), {
      resourceVersion: version,
      fieldSelector: "metadata.name=one",
    });
    for (const name of ["other", "one"])
      (await site.patch(space.at("leases", name), { spec: { holderIdentity: "x" } })).is(200);
    (await site.delete(space.at("leases", "other"))).is(200);
    (await site.delete(space.at("leases", "one"))).is(200);
    await space.leases("one");
    same(watch.request, "events", await watch.tells(3), ["MODIFIED one", "DELETED one", "ADDED one"]);
  }),
  rule("watch-ends", "a watch ends cleanly after the requested time, not with an error", async (site) => {
    const space = await site.space();
    const { version } = (await site.get(space.at("leases"))).is(200);
    const begun = performance.now();
    const watch = await site.watch(space.at("leases"), { resourceVersion: version, timeoutSeconds: 2 });
    await space.leases("one");
    const events = await watch.end();
    const seconds = (performance.now() - begun) / 1000;
    same(watch.request, "events", events.map(eventText), ["ADDED one"]);
    holds(watch.request, "an end after 2 s", `${seconds.toFixed(1)} s`, seconds > 1.5 && seconds < 15);
  }),
  rule("watch-lasts", "an idle watch stays open", async (site) => {
    const space = await site.space();
    const { version } = (await site.get(space.at("leases"))).is(200);
    const watch = await site.watch(space.at("leases"), { resourceVersion: version });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    holds(watch.request, "a stream that goes on", "it ended", !watch.ended);
    await space.leases("z");
    same(watch.request, "events", await watch.tells(1), ["ADDED z"]);
  }),
  rule(
    "watch-long-ago",
    "a watch from an old version sends everything since, or 410 Expired; a silent end would look like no changes",
    async (site) => {
      const space = await site.space();
      await space.leases("a", "b");
      (await site.delete(space.at("leases", "a"))).is(200);
      const watch = await site.tryWatch(space.at("leases"), { resourceVersion: 1 });
      if (watch instanceof Answer) {
        watch.fails(410, "Expired");
        return;
      }
      const { type, object } = await watch.next("what was written since, or 410");
      if (type === "ERROR") return checkExpired(watch.request, object);
      const rest = await watch.tells(2);
      same(
        watch.request,
        "events",
        [`${type} ${textAt(object, "metadata", "name")}`, ...rest],
        ["ADDED a", "ADDED b", "DELETED a"],
      );
    },
  ),
  rule("watch-refused", "an invalid watch request is refused before it begins", async (site) => {
    const space = await site.space();
    for (const [query, code, reason] of [
      [{ labelSelector: "a in (" }, 400, "BadRequest"],
      [{ fieldSelector: "spec.unknown=a" }, 400, "BadRequest"],
      [{ resourceVersion: 0, resourceVersionMatch: "NotOlderThan" }, 422, "Invalid"],
      [{ sendInitialEvents: true }, 422, "Invalid"],
      [{ sendInitialEvents: true, resourceVersionMatch: "Exact" }, 422, "Invalid"],
    ] as const) {
      const watch = await site.tryWatch(space.at("leases"), query);
      if (!(watch instanceof Answer)) throw new Unmet(watch.request, `${code} ${reason}`, "a stream of events");
      watch.fails(code, reason);
    }
  }),
];

/** Checks for the ERROR event of a compacted history. */
export function checkExpired(request: string, object: Parameters<typeof numberAt>[0]): void {
  const [code, reason] = [numberAt(object, "code"), textAt(object, "reason")];
  const right = textAt(object, "kind") === "Status" && code === 410 && (reason === "Expired" || reason === "Gone");
  holds(request, "an ERROR event whose Status has code 410 and reason Expired", object, right);
  holds(request, "no items", object, itemsAt(object, "items").length === 0);
}

/** Each is created and changed. */
async function written(site: Ground, space: Space, all: readonly string[]): Promise<void> {
  for (const name of all) {
    await space.create("leases", lease(name));
    (await site.patch(space.at("leases", name), { spec: { holderIdentity: "x" } })).is(200);
  }
}
