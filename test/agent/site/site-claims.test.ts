import { describe, expect, test } from "vitest";
import type { Lease, Node } from "../../../agent/api/core.ts";
import type { KubeObject } from "../../../agent/api/meta.ts";
import { namespaces, nodes, type Resource } from "../../../agent/api/resources.ts";
import { matchesLabels, parseLabelSelector } from "../../../agent/api/selectors.ts";
import { ApiError } from "../../../agent/client/api-error.ts";
import type { ListOptions, ListResult } from "../../../agent/client/kube-client.ts";
import type { Lister } from "../../../agent/informer/lister.ts";
import type { SiteRank } from "../../../agent/informer/reflector/reconnect-scheduler.ts";
import { type OwnNamespaces, SiteClaims } from "../../../agent/site/site-claims.ts";
import { olderClaims, type SiteLease, siteLabels } from "../../../agent/site/site-lease.ts";
import { node } from "../../support/builders.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { RecordingLog } from "../../support/recording-log.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { SmallCaches } from "../election/support/caches.ts";

const own = "kube-system/siteward-mine";
const lease = (site: string, created: string, selector = "", uid = `uid-${site}`): SiteLease => ({
  key: `kube-system/siteward-${site}`,
  uid,
  created,
  site,
  selector,
  namespaces: undefined,
});

const older = (...found: readonly SiteLease[]): readonly string[] =>
  olderClaims(found, own, () => {}).map(({ site }) => site);

describe("the older of two sites", () => {
  const mine = lease("mine", "2026-01-01T10:00:05Z");

  test.each<[what: string, other: SiteLease, claims: readonly string[]]>([
    ["a site that was made a second before", lease("a", "2026-01-01T10:00:04Z"), ["a"]],
    ["a site that was made a second later", lease("a", "2026-01-01T10:00:06Z"), []],
    ["a site made in the same second with a smaller uid", lease("a", "2026-01-01T10:00:05Z", "", "uid-a"), ["a"]],
    ["a site made in the same second with a greater uid", lease("z", "2026-01-01T10:00:05Z", "", "uid-z"), []],
  ])("%s", (_, other, claims) => {
    expect(older(mine, other)).toEqual(claims);
  });

  test("both sites come to opposite answers, regardless of which asks", () => {
    const a = lease("a", "2026-01-01T10:00:05Z");
    const seenBy = (key: string) => olderClaims([mine, a], key, () => {}).length;
    expect(seenBy(own) + seenBy(a.key)).toBe(1);
  });

  test("the oldest goes first, and all go before a site whose own Lease cannot be seen", () => {
    const others = [lease("c", "2026-01-03T00:00:00Z"), lease("b", "2026-01-02T00:00:00Z")];
    expect(older(...others)).toEqual(["b", "c"]);
  });

  test("a selector that cannot be parsed does not claim anything, and is named", () => {
    const unreadable: string[] = [];
    const found = [mine, lease("a", "2026-01-01T00:00:00Z", "not a (selector")];
    expect(olderClaims(found, own, (key) => unreadable.push(key))).toEqual([]);
    expect(unreadable).toEqual(["kube-system/siteward-a"]);
  });

  test("a selector longer than a setting permits does not claim anything, because it would be evaluated for each board", () => {
    const selector = (length: number) => `a=${"b,a=".repeat(length / 4 - 1)}b,`.slice(0, length - 1);
    expect(olderClaims([mine, lease("a", "2026-01-01T00:00:00Z", selector(1024))], own, () => {})).toHaveLength(1);
    const unreadable: string[] = [];
    const long = [mine, lease("a", "2026-01-01T00:00:00Z", selector(1032))];
    expect(olderClaims(long, own, (_, { message }) => unreadable.push(message))).toEqual([]);
    expect(unreadable).toEqual([expect.stringContaining("longer than 1024")]);
  });
});

/** The Leases of sites on an API server, by namespace. */
class Leases {
  readonly all: Lease[] = [];
  readonly asked: ListOptions[] = [];
  refuse: (options: ListOptions) => Error | undefined = () => undefined;

  /** By name, with their labels. */
  readonly namespaces = new Map<string, Readonly<Record<string, string>>>();

  /** `workloads`: what it says of its namespaces; undefined: nothing, as older versions. */
  put(
    site: string,
    created: string,
    selector: string | undefined,
    { namespace = "kube-system", workloads }: { readonly namespace?: string; readonly workloads?: string } = {},
  ): void {
    this.remove(site);
    const annotations = {
      ...(selector !== undefined && { "siteward.dev/node-selector": selector }),
      ...(workloads !== undefined && { "siteward.dev/namespace-selector": workloads }),
    };
    const identity = { name: `siteward-${site}`, namespace, uid: `uid-${site}`, resourceVersion: "1" };
    this.all.push({ metadata: { ...identity, creationTimestamp: created, labels: siteLabels(site), annotations } });
  }

  remove(site: string): void {
    const at = this.all.findIndex(({ metadata }) => metadata.name === `siteward-${site}`);
    if (at >= 0) this.all.splice(at, 1);
  }

  /** Two to a page. */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions,
    each: (object: T) => void,
  ): Promise<ListResult> {
    this.asked.push(options);
    const failure = this.refuse(options);
    if (failure) throw failure;
    const all =
      resource.plural === "leases" ? this.all : [...this.namespaces].map(([name, labels]) => named(name, labels));
    const selector = parseLabelSelector(options.labelSelector ?? "");
    const found = all.filter(
      ({ metadata }) =>
        (options.namespace === undefined || metadata.namespace === options.namespace) &&
        matchesLabels(selector, metadata.labels),
    ) as unknown as T[];
    const from = Number(options.continue || 0);
    const page = found.slice(from, from + 2);
    page.forEach(each);
    const next = from + 2 < found.length ? String(from + 2) : undefined;
    return { resourceVersion: "1", continue: next, items: page.length, rejectedItems: 0, rejected: [] };
  }
}

const named = (name: string, labels: Readonly<Record<string, string>>): KubeObject => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: "1", labels },
});

const refusal = (status: number, reason: string): ApiError =>
  new ApiError({ verb: "list", target: "leases" }, { status, reason, message: reason });

function setUp(own: "every" | "none" | "some" = "every") {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const leases = new Leases();
  const caches = new SmallCaches();
  const changes: number[] = [];
  const ranks: (SiteRank | undefined)[] = [];
  leases.put("mine", "2026-01-02T00:00:00Z", "");
  caches
    .of(nodes)
    .add(
      ...["n-1", "n-2", "n-3", "n-4"].map((name) => node(name, { labels: { area: "north" } })),
      node("s-1", { labels: { area: "south" } }),
    );
  const mine: OwnNamespaces = own === "some" ? caches.of(namespaces).lister : own;
  const claims = new SiteClaims(
    { clock, log, random: new SeededRandom() },
    {
      client: leases,
      at: { namespace: "kube-system", name: "siteward-mine" },
      leaseNamespaces: ["kube-system", "edge"],
      boards: caches.of(nodes).lister as Lister<Node>,
      namespaces: mine,
      period: 300_000,
      changed: () => changes.push(clock.now().mono),
      ranked: (rank) => ranks.push(rank),
    },
  );
  const stop = new AbortController();
  const said = (level?: "warn" | "info") => log.said(level);
  return { clock, log, leases, claims, changes, ranks, caches, stop, said, signal: stop.signal };
}

test("a site alone on its API server has no other site to consider", async () => {
  const { claims, changes, signal, leases } = setUp();
  leases.put("younger", "2026-01-03T00:00:00Z", "");
  leases.put("without-a-word", "2026-01-01T00:00:00Z", undefined);
  await claims.learn(signal);
  expect(claims.none).toBe(true);
  expect(claims.conflicts()).toEqual([]);
  expect(changes).toEqual([]);
});

test("every site knows the same order of all of them, including sites that claim nothing of ours", async () => {
  const { claims, ranks, signal, leases } = setUp();
  expect(ranks.at(-1)).toBeUndefined();
  await claims.learn(signal);
  expect(ranks.at(-1)).toEqual({ rank: 0, of: 1 });
  leases.put("older", "2026-01-01T00:00:00Z", "area=west");
  leases.put("younger", "2026-01-03T00:00:00Z", "area=east");
  leases.put("oldest", "2025-01-01T00:00:00Z", "area=elsewhere", { namespace: "edge" });
  await claims.learn(signal);
  expect(ranks.at(-1)).toEqual({ rank: 2, of: 4 });
  leases.remove("mine");
  await claims.learn(signal);
  expect(ranks.at(-1)).toBeUndefined();
});

test("an older site's boards are reported with the first of their names, and so is the end of the conflict", async () => {
  const { clock, claims, changes, signal, stop, leases, log } = setUp();
  leases.put("north", "2026-01-01T00:00:00Z", "area=north", { namespace: "edge" });
  await claims.learn(signal);
  const conflict = {
    site: "north",
    lease: "edge/siteward-north",
    boards: 4,
    some: ["n-1", "n-2", "n-3"],
    namespaces: undefined,
  };
  expect(claims.conflicts()).toEqual([conflict]);
  expect(claims.claimant({ area: "north" })?.site).toBe("north");
  expect(claims.claimant({ area: "south" })).toBeUndefined();

  const following = claims.follow(signal);
  await clock.advance("20m");
  expect(log.lines).toEqual([
    { level: "warn", message: "an older site claims boards or namespaces that this site selects", fields: conflict },
  ]);

  leases.remove("north");
  await clock.advance("6m");
  expect(claims.none).toBe(true);
  expect(changes).toHaveLength(2);
  expect(log.said("info")).toEqual(["the conflict with an older site has ended"]);
  stop.abort();
  await following;
  expect(clock.timers).toBe(0);
});

test("nothing is known before the first list has succeeded; a later failure does not change that", async () => {
  const { clock, claims, signal, stop, leases } = setUp();
  leases.put("north", "2026-01-01T00:00:00Z", "area=north");
  leases.refuse = () => refusal(503, "ServiceUnavailable");
  let isKnown = false;
  const learning = claims.learn(signal).then(() => {
    isKnown = true;
  });
  await clock.advance("1m");
  expect(isKnown).toBe(false);
  leases.refuse = () => undefined;
  await clock.advance("1m");
  await learning;
  expect(claims.conflicts()).toHaveLength(1);

  const following = claims.follow(signal);
  leases.refuse = () => refusal(503, "ServiceUnavailable");
  await clock.advance("1h");
  expect(claims.conflicts()).toHaveLength(1);
  stop.abort();
  await following;
});

test("a Lease outside the namespaces of sites does not claim anything, and is not even read", async () => {
  const { claims, ranks, signal, leases } = setUp();
  leases.put("planted", "2020-01-01T00:00:00Z", "", { namespace: "tenant", workloads: "" });
  await claims.learn(signal);
  expect(claims.none).toBe(true);
  expect(ranks.at(-1)).toEqual({ rank: 0, of: 1 });
  expect(leases.asked.map(({ namespace }) => namespace)).toEqual(["kube-system", "edge"]);
});

test("a namespace of sites that may not be read is named; the others still count", async () => {
  const { claims, signal, leases, said } = setUp();
  leases.put("north", "2026-01-01T00:00:00Z", "area=north");
  leases.put("south", "2026-01-01T00:00:00Z", "area=south", { namespace: "edge" });
  leases.refuse = ({ namespace }) => (namespace === "edge" ? refusal(403, "Forbidden") : undefined);
  await claims.learn(signal);
  expect(claims.conflicts().map(({ site }) => site)).toEqual(["north"]);
  expect(claims.unseen).toEqual(["edge"]);

  leases.refuse = () => refusal(403, "Forbidden");
  await claims.learn(signal);
  expect(claims.unseen).toEqual(["kube-system", "edge"]);
  expect(claims.none).toBe(true);
  expect(said("warn")).toEqual(["no permission to list the Leases of other sites"]);
});

test("only the metadata of a Lease is fetched, page by page", async () => {
  const { claims, signal, leases } = setUp();
  for (const site of ["a", "b", "c"]) leases.put(site, "2026-01-01T00:00:00Z", `area=${site}`);
  await claims.learn(signal);
  expect(leases.asked).toHaveLength(3);
  expect(leases.asked[0]).toMatchObject({ metadataOnly: true, labelSelector: "app.kubernetes.io/managed-by=siteward" });
});

describe("namespaces that two sites select", () => {
  const first = "2026-01-01T00:00:00Z";

  test("are found by the older site's selector, again with each check, if every namespace is ours", async () => {
    const { clock, claims, changes, signal, stop, leases } = setUp();
    leases.namespaces.set("shop", { site: "north" }).set("till", { site: "south" });
    leases.put("north", first, "area=nowhere", { workloads: "site=north" });
    await claims.learn(signal);
    expect(claims.noNamespaces).toBe(false);
    expect(claims.claimantOfNamespace("shop")?.site).toBe("north");
    expect(claims.claimantOfNamespace("till")).toBeUndefined();
    expect(claims.conflicts()).toMatchObject([{ boards: 0, namespaces: { count: 1, some: ["shop"] } }]);

    const following = claims.follow(signal);
    leases.namespaces.set("till", { site: "north" });
    await clock.advance("6m");
    expect(claims.claimantOfNamespace("till")?.site).toBe("north");
    expect(changes).toHaveLength(2);
    stop.abort();
    await following;
  });

  test("are found by their labels immediately, without a request, if we have namespaces of our own", async () => {
    const { claims, signal, leases, caches } = setUp("some");
    caches.of(namespaces).add(named("shop", { site: "both" }), named("till", { site: "mine" }));
    leases.put("north", first, "area=nowhere", { workloads: "site in (both, north)" });
    await claims.learn(signal);
    expect(leases.asked).toHaveLength(2);
    expect(claims.claimantOfNamespace("shop")?.site).toBe("north");
    expect(claims.conflicts()).toMatchObject([{ namespaces: { count: 1, some: ["shop"] } }]);
    caches.of(namespaces).add(named("till", { site: "north" }));
    expect(claims.claimantOfNamespace("till")?.site).toBe("north");
  });

  test("an older site that is the whole cluster leaves no workloads to others", async () => {
    const { claims, signal, leases } = setUp();
    leases.put("all", first, "area=nowhere", { workloads: "" });
    await claims.learn(signal);
    expect(claims.claimantOfNamespace("shop")?.site).toBe("all");
    expect(claims.conflicts()).toMatchObject([{ namespaces: "every" }]);
  });

  test.each<[who: string, own: "every" | "none", workloads: string | undefined]>([
    ["a site without workloads", "every", "-"],
    ["a site of a version that did not publish it", "every", undefined],
    ["any site, if ours has no workloads", "none", ""],
  ])("%s does not claim any namespace", async (_, own, workloads) => {
    const { claims, signal, leases } = setUp(own);
    leases.put("north", first, "area=nowhere", workloads === undefined ? {} : { workloads });
    await claims.learn(signal);
    expect(claims.conflicts()).toEqual([]);
  });
});
