import { isSameJson, type JsonObject, textAt, valueAt } from "../../../agent/api/json.ts";
import { lease } from "../objects.ts";
import { type Rule, rule, ruleAlone } from "../rule.ts";
import { holds, same } from "../unmet.ts";
import { type Event, eventText, versionOf, type WatchStream } from "../watch-stream.ts";

const isBookmark = ({ type }: Event): boolean => type === "BOOKMARK";

/** A bookmark arrives two seconds before a watch ends, whatever the usual interval. */
const soon = { allowWatchBookmarks: true, timeoutSeconds: 5 };

const upToBookmark = (watch: WatchStream): Promise<readonly Event[]> => watch.upTo(isBookmark, "a bookmark", 15_000);

export const bookmarkRules: readonly Rule[] = [
  ruleAlone(
    "bookmark-complete",
    "a bookmark follows all events up to its version: a watch that resumes from it misses nothing",
    async (site) => {
      const space = await site.space();
      const { version } = (await site.get(space.at("leases"))).is(200);
      const watch = await site.watch(space.at("leases"), { ...soon, resourceVersion: version });
      const written = new Map<string, string>();
      let done = false;
      const writer = async (name: string): Promise<void> => {
        written.set((await space.create("leases", lease(name))).version, name);
        for (let i = 0; !done; i++) {
          const { version } = (await site.patch(space.at("leases", name), { spec: { holderIdentity: `${i}` } })).is(
            200,
          );
          written.set(version, name);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      const read = upToBookmark(watch).finally(() => {
        done = true;
      });
      const [events] = await Promise.all([read, ...["a", "b", "c"].map(writer)]);
      const bookmark = BigInt(versionOf(events.at(-1) ?? { type: "", object: {} }));
      const toldBefore = new Set(events.slice(0, -1).map(versionOf));
      const missing = [...written].filter(([one]) => BigInt(one) <= bookmark && !toldBefore.has(one));
      same(watch.request, `writes up to the bookmark at ${bookmark} that were not sent before it`, missing, []);
      // And not too old to be useful: it covers all sent events.
      const newest = [...toldBefore].reduce((one, other) => (BigInt(one) > BigInt(other) ? one : other), "0");
      holds(watch.request, `a bookmark at ${newest} or later`, String(bookmark), bookmark >= BigInt(newest));
      const resumed = await site.watch(space.at("leases"), { resourceVersion: String(bookmark) });
      const later = [...written].filter(([one]) => BigInt(one) > bookmark).map(([one]) => one);
      await space.leases("z");
      const rest = await resumed.upTo((event) => eventText(event) === "ADDED z", "ADDED z");
      same(
        resumed.request,
        "events after the bookmark",
        rest.slice(0, -1).map(versionOf),
        later.toSorted((a, b) => Number(BigInt(a) - BigInt(b))),
      );
    },
  ),
  rule("bookmark-position", "a watch resumed from a bookmark has neither gaps nor repeated events", async (site) => {
    const space = await site.space();
    await space.leases("a");
    const { version } = (await site.get(space.at("leases"))).is(200);
    const watch = await site.watch(space.at("leases"), { ...soon, resourceVersion: version });
    await space.leases("b");
    const events = await upToBookmark(watch);
    same(watch.request, "events before the bookmark", events.slice(0, -1).map(eventText), ["ADDED b"]);
    const bookmark = versionOf(events.at(-1) ?? { type: "", object: {} });
    await space.leases("c", "d");
    const resumed = await site.watch(space.at("leases"), { resourceVersion: bookmark });
    same(resumed.request, "events", await resumed.tells(2), ["ADDED c", "ADDED d"]);
  }),
  rule(
    "bookmark-shape",
    "a bookmark has kind, apiVersion and a resourceVersion, and no other content",
    async (site) => {
      const space = await site.space();
      await space.leases("a");
      const watch = await site.watch(space.at("leases"), {
        ...soon,
        resourceVersion: (await site.get(space.at("leases"))).version,
      });
      const { object } = (await upToBookmark(watch)).at(-1) ?? { object: {} };
      same(watch.request, "kind", textAt(object, "kind"), "Lease");
      same(watch.request, "apiVersion", textAt(object, "apiVersion"), "coordination.k8s.io/v1");
      same(watch.request, "name", textAt(object, "metadata", "name"), "");
      holds(
        watch.request,
        "a resourceVersion",
        object,
        /^[1-9]\d*$/.test(textAt(object, "metadata", "resourceVersion")),
      );
    },
  ),
  rule("bookmark-unasked", "a watch gets bookmarks only on request", async (site) => {
    const space = await site.space();
    const { version } = (await site.get(space.at("leases"))).is(200);
    const watch = await site.watch(space.at("leases"), { resourceVersion: version, timeoutSeconds: 5 });
    await space.leases("a");
    same(watch.request, "events", (await watch.end()).map(eventText), ["ADDED a"]);
  }),
  rule(
    "initial-events",
    "a streamed initial list: the present objects as ADDED, then a bookmark that marks the end, then changes",
    async (site) => {
      const space = await site.space();
      await space.leases("a", "b", "gone");
      (await site.delete(space.at("leases", "gone"))).is(200);
      const query = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: true };
      const watch = await site.watch(space.at("leases"), query);
      const events = await watch.upTo(isBookmark, "the bookmark that ends the initial events");
      same(watch.request, "what is there", events.slice(0, -1).map(eventText).toSorted(), ["ADDED a", "ADDED b"]);
      const end = events.at(-1)?.object ?? {};
      holds(watch.request, 'the annotation k8s.io/initial-events-end: "true"', end, marksEnd(end));
      await space.leases("c");
      same(watch.request, "what happens", await watch.tells(1), ["ADDED c"]);
      const resumed = await site.watch(space.at("leases"), {
        resourceVersion: textAt(end, "metadata", "resourceVersion"),
      });
      same(resumed.request, "what comes after that bookmark", await resumed.tells(1), ["ADDED c"]);
    },
  ),
  rule("initial-events-empty", "the bookmark also follows an empty initial list", async (site) => {
    const space = await site.space();
    const query = {
      sendInitialEvents: true,
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: true,
      resourceVersion: 0,
    };
    const watch = await site.watch(space.at("leases"), query);
    const first = await watch.next("the bookmark that ends the initial events");
    holds(
      watch.request,
      "a BOOKMARK with the annotation k8s.io/initial-events-end",
      first,
      isBookmark(first) && marksEnd(first.object),
    );
    await space.leases("a");
    same(watch.request, "what happens", await watch.tells(1), ["ADDED a"]);
  }),
  rule("initial-events-none", "sendInitialEvents=false begins after the present objects", async (site) => {
    const space = await site.space();
    await space.leases("a");
    const watch = await site.watch(space.at("leases"), {
      sendInitialEvents: false,
      resourceVersionMatch: "NotOlderThan",
    });
    await space.leases("b");
    same(watch.request, "events", await watch.tells(1), ["ADDED b"]);
  }),
];

const marksEnd = (object: JsonObject): boolean =>
  isSameJson(valueAt(object, "metadata", "annotations", "k8s.io/initial-events-end"), "true");
