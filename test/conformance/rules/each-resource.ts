import { type JsonObject, textAt } from "../../../agent/api/json.ts";
import type { Answer } from "../answer.ts";
import type { Ground } from "../ground.ts";
import { at, configMap, daemonSet, disruptionBudget, event, lease, mergePatch, node, pod } from "../objects.ts";
import { type Rule, rule } from "../rule.ts";
import { same } from "../unmet.ts";
import { type Event, eventText, nameOf, versionOf } from "../watch-stream.ts";

/** A resource, with the path and the form of its objects. */
interface Place {
  readonly resource: string;
  readonly path: (...parts: readonly string[]) => string;
  readonly create: (name: string) => Promise<Answer>;
  /** The prefix of a rule's names: boards have no namespace. */
  readonly prefix: string;
}

/** Every resource that siteward caches or writes: a server may be right about one and wrong about another. */
async function places(site: Ground): Promise<readonly Place[]> {
  const space = await site.space();
  const within = (resource: string, made: (name: string) => JsonObject): Place => ({
    resource,
    path: (...parts) => space.at(resource, ...parts),
    create: (name) => space.create(resource, made(name)),
    prefix: "thing",
  });
  const boards: Place = {
    resource: "nodes",
    path: (...parts) => at("nodes", undefined, ...parts),
    create: (name) => site.make("nodes", { ...node(name), metadata: { name } }),
    prefix: site.name(),
  };
  return [
    boards,
    within("pods", (name) => pod(name)),
    within("configmaps", (name) => configMap(name)),
    within("events", (name) => event(name, space.name)),
    within("daemonsets", (name) => daemonSet(name)),
    within("leases", (name) => lease(name)),
    within("poddisruptionbudgets", (name) => disruptionBudget(name, { app: name })),
  ];
}

const each =
  (check: (site: Ground, place: Place) => Promise<void>) =>
  async (site: Ground): Promise<void> => {
    for (const place of await places(site)) await check(site, place);
  };

/** A server may mark an object before it removes it. */
const isMark = ({ type, object }: Event): boolean =>
  type === "MODIFIED" && textAt(object, "metadata", "deletionTimestamp") !== "";

export const eachResourceRules: readonly Rule[] = [
  rule(
    "each-watched",
    "for every watched resource each write is sent once and in order",
    each(async (site, { path, create, prefix }) => {
      const { version } = (await site.get(path(), { limit: 1 })).is(200);
      const watch = await site.watch(path(), { resourceVersion: version });
      const [one, other] = [`${prefix}-1`, `${prefix}-2`];
      const written: string[] = [];
      const tell = (type: string, { version: at }: Answer, name: string) => written.push(`${type} ${name} ${at}`);
      tell("ADDED", await create(one), one);
      tell("ADDED", await create(other), other);
      for (const step of ["a", "b", "c", "d"]) {
        for (const name of [one, other, other]) {
          const labels = { step, times: String(written.length) };
          tell("MODIFIED", (await site.patch(path(name), { metadata: { labels } })).is(200), name);
        }
      }
      (await site.delete(path(one))).is(200);
      tell("ADDED", await create(`${prefix}-3`), `${prefix}-3`);
      const fits = (seen: Event): boolean => eventText(seen) === `ADDED ${prefix}-3`;
      const events = (await watch.upTo(fits, `ADDED ${prefix}-3`)).filter((each) => nameOf(each).startsWith(prefix));
      const shown = events
        .filter((each) => !isMark(each))
        .map((each) => (each.type === "DELETED" ? eventText(each) : `${eventText(each)} ${versionOf(each)}`));
      same(watch.request, "events", shown, [...written.slice(0, -1), `DELETED ${one}`, ...written.slice(-1)]);
      watch.close();
    }),
  ),
  rule(
    "each-listed",
    "for every watched resource a paged list has each object once",
    each(async (site, { path, create, prefix }) => {
      const names = Array.from({ length: 5 }, (_, i) => `${prefix}-${i}`);
      for (const name of names) {
        await create(name);
        (await site.patch(path(name), { metadata: { labels: { mark: prefix } } })).is(200);
      }
      const found: string[] = [];
      let token = "";
      do {
        const query = { limit: 2, labelSelector: `mark=${prefix}`, ...(token !== "" && { continue: token }) };
        const page = (await site.get(path(), query)).is(200);
        page.holds("no more than 2 items", page.items.length, page.items.length <= 2);
        found.push(...page.names);
        token = page.textAt("metadata", "continue");
      } while (token !== "" && found.length < 20);
      same(`GET ${path()}, in pages`, "names", found, names);
      (await site.get(path(), { labelSelector: `mark=${prefix}` })).lists(names);
    }),
  ),
  rule(
    "each-fenced",
    "for every resource stale updates, stale patches and deletions of a predecessor are refused with 409",
    each(async (site, { path, create, prefix }) => {
      const name = `${prefix}-1`;
      const old = await create(name);
      const now = (await site.patch(path(name), { metadata: { labels: { changed: "yes" } } })).is(200);
      const labels = { by: "the late one" };
      const stale = { ...old.body, metadata: { ...Object(old.at("metadata")), labels } };
      (await site.put(path(name), stale)).fails(409, "Conflict");
      const patch = { metadata: { resourceVersion: old.version, labels } };
      (await site.patch(path(name), patch, mergePatch)).fails(409, "Conflict");
      (await site.delete(path(name), { preconditions: { uid: "another" } })).fails(409, "Conflict");
      (await site.delete(path(name), { preconditions: { resourceVersion: old.version } })).fails(409, "Conflict");
      (await site.get(path(name))).is(200).shows(now.version, "metadata", "resourceVersion");
      (await site.delete(path(name), { preconditions: { uid: now.uid } })).is(200);
      (await site.get(path(name))).fails(404, "NotFound");
    }),
  ),
];
