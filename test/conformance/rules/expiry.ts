import { textAt } from "../../../agent/api/json.ts";
import { Answer } from "../answer.ts";
import type { Ground, Space } from "../ground.ts";
import { event } from "../objects.ts";
import { type Rule, ruleAlone } from "../rule.ts";
import { same } from "../unmet.ts";
import { checkExpired } from "./watch-position.ts";

/**
 * Compaction is the whole server's, so that these rules are looked at alone. They use Events, because a kube-apiserver keeps no cache of them: what etcd forgot is forgotten at once. Of what it caches it
 * goes on telling for a while.
 */
async function eventsOf(space: Space, ...names: readonly string[]): Promise<void> {
  for (const name of names) await space.create("events", event(name, space.name));
}

/** The version of the Events before more of them were written and history was forgotten. */
async function forgotten(site: Ground, space: Space): Promise<string> {
  await eventsOf(space, "a", "b", "c", "d", "e");
  const { version } = (await site.get(space.at("events"))).is(200);
  (await site.delete(space.at("events", "a"))).is(200);
  await eventsOf(space, "f", "g");
  await site.compact();
  return version;
}

export const expiryRules: readonly Rule[] = [
  ruleAlone(
    "expired-watch",
    "a watch from a compacted version gets 410 Expired, as its answer or as an ERROR event: its reader lists again",
    async (site) => {
      const space = await site.space();
      const resourceVersion = await forgotten(site, space);
      const watch = await site.tryWatch(space.at("events"), { resourceVersion });
      if (watch instanceof Answer) {
        watch.fails(410, "Expired");
        return;
      }
      const first = await watch.next("an ERROR event with 410");
      same(watch.request, "the type of the first event", first.type, "ERROR");
      checkExpired(watch.request, first.object);
      await watch.end();
    },
  ),
  ruleAlone("expired-then-list", "a new list after 410 is complete, and a watch continues from it", async (site) => {
    const space = await site.space();
    await forgotten(site, space);
    const list = (await site.get(space.at("events"))).lists(["b", "c", "d", "e", "f", "g"]);
    const watch = await site.watch(space.at("events"), { resourceVersion: list.version });
    await eventsOf(space, "z");
    same(watch.request, "events", await watch.tells(1), ["ADDED z"]);
  }),
  ruleAlone("expired-exact", "a list of an exact, compacted version gets 410 Expired", async (site) => {
    const space = await site.space();
    const resourceVersion = await forgotten(site, space);
    (await site.get(space.at("events"), { resourceVersion, resourceVersionMatch: "Exact" })).fails(410, "Expired");
  }),
  ruleAlone(
    "expired-continue",
    "a continue token with a compacted version gets 410 Expired, with a token that lists the rest in its current state",
    async (site) => {
      const space = await site.space();
      await eventsOf(space, "a", "b", "c", "d", "e", "f");
      const first = (await site.get(space.at("events"), { limit: 3 })).lists(["a", "b", "c"]);
      const token = first.textAt("metadata", "continue");
      (await site.delete(space.at("events", "a"))).is(200);
      (await site.delete(space.at("events", "e"))).is(200);
      await eventsOf(space, "g", "bb");
      await site.compact();
      const expired = (await site.get(space.at("events"), { limit: 2, continue: token })).fails(410, "Expired");
      const fresh = expired.textAt("metadata", "continue");
      expired.holds("a continue token in the metadata", expired.at("metadata"), fresh !== "");
      const second = (await site.get(space.at("events"), { limit: 2, continue: fresh })).lists(["d", "f"]);
      const last = second.textAt("metadata", "continue");
      (await site.get(space.at("events"), { limit: 2, continue: last }))
        .lists(["g"])
        .shows(undefined, "metadata", "continue");
    },
  ),
  ruleAlone("compacted-watch-goes-on", "a watch that keeps up is unaffected by compaction", async (site) => {
    const space = await site.space();
    const { version } = (await site.get(space.at("events"))).is(200);
    const watch = await site.watch(space.at("events"), { resourceVersion: version });
    await eventsOf(space, "a", "b");
    same(watch.request, "events", await watch.tells(2), ["ADDED a", "ADDED b"]);
    await site.compact();
    await eventsOf(space, "c");
    same(watch.request, "events", await watch.tells(1), ["ADDED c"]);
  }),
  ruleAlone("compacted-state-stays", "compaction removes former states, never current objects", async (site) => {
    const space = await site.space();
    await forgotten(site, space);
    for (const name of ["b", "c", "d", "e", "f", "g"])
      (await site.get(space.at("events", name))).is(200).shows(name, "metadata", "name");
    (await site.get(space.at("events", "a"))).fails(404, "NotFound");
    (await site.get(space.at("events"))).lists(["b", "c", "d", "e", "f", "g"]);
    const before = (await site.get(space.at("events", "b"))).is(200);
    const patched = (await site.patch(space.at("events", "b"), { message: "still here" })).is(200);
    patched.same("uid", textAt(patched.body, "metadata", "uid"), before.uid);
  }),
];
