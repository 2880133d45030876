import { describe, expect, test } from "vitest";
import { type Instant, shifted } from "../../../../agent/base/clock.ts";
import type { NodeHealth } from "../../../../agent/controllers/node-lifecycle/health.ts";
import { type BoardRecord, firstMemory } from "../../../../agent/controllers/node-lifecycle/memory.ts";
import { recollect } from "../../../../agent/controllers/node-lifecycle/recollection.ts";
import type { NodeLifecycleSettings } from "../../../../agent/controllers/node-lifecycle/settings.ts";
import type { Span } from "../../../support/fake-clock.ts";
import { SiteModel } from "../site-model.ts";

const names = ["a", "b", "c", "d"];

async function ledSite(settings: Partial<NodeLifecycleSettings> = {}): Promise<SiteModel> {
  const site = new SiteModel({ policy: "evidence", ...settings });
  for (const name of names) site.board(name);
  await site.run("2m");
  return site;
}

/** An outage that ends the leader's term, and then a term of the same process. */
async function nextTerm(site: SiteModel, { up = "30s", remembers = true, meanwhile = () => {} }: NextTerm = {}) {
  site.cut();
  await site.run("25s");
  meanwhile();
  await site.run("25s");
  const { recollection: recalled } = site;
  site.restore();
  await site.lead(remembers ? { recalled } : {});
  await site.run(up);
}

interface NextTerm {
  readonly up?: Span;
  readonly remembers?: boolean;
  readonly meanwhile?: () => void;
}

const missed = (site: SiteModel, board: string) => site.memory.boards.get(board)?.health.missed?.length;

describe("where each outage ends the leader's term", () => {
  test("a dead board is marked once it has missed three grace periods in earlier terms of the process", async () => {
    const site = await ledSite();
    site.silence("d");
    await site.run("20s");
    for (let term = 0; term < 4; term++) await nextTerm(site);
    expect([missed(site, "d"), site.conditions("d").Ready]).toEqual([90_000, "True"]);
    await nextTerm(site);
    expect([missed(site, "d"), site.conditions("d").Ready]).toEqual([120_000, "Unknown"]);
    for (const name of ["a", "b", "c"]) expect(site.conditions(name).Ready).toBe("True");
  });

  test("it is never marked by processes that remember nothing of earlier terms", async () => {
    const site = await ledSite();
    site.silence("d");
    await site.run("20s");
    for (let term = 0; term < 12; term++) await nextTerm(site, { remembers: false });
    expect(site.times(/Ready=Unknown/)).toEqual([]);
  });

  test("nor under policy kubernetes, which begins a new grace period each time", async () => {
    const site = await ledSite({ policy: "kubernetes" });
    site.silence("d");
    await site.run("20s");
    for (let term = 0; term < 12; term++) await nextTerm(site);
    expect(site.times(/Ready=Unknown/)).toEqual([]);
  });

  test.each<[string, (site: SiteModel) => void]>([
    ["renewed its Lease", (site) => site.renew("d")],
    ["reported its status", (site) => site.report("d")],
    ["was set up again", (site) => site.board("d", { uid: "another", silent: true })],
  ])("the count begins again if the board %s while no board led", async (_, live) => {
    const site = await ledSite();
    site.silence("d");
    await site.run("20s");
    for (let term = 0; term < 4; term++) await nextTerm(site);
    await nextTerm(site, { meanwhile: () => live(site) });
    expect(missed(site, "d")).toBeUndefined();
    for (let term = 0; term < 4; term++) await nextTerm(site);
    expect(site.times(/Ready=Unknown/)).toEqual([]);
    await nextTerm(site);
    expect(site.times("d Ready=Unknown")).toHaveLength(1);
  });

  test("a term in which no board is heard does not end the silence of the dead one, and adds nothing to it", async () => {
    const site = await ledSite();
    site.silence("d");
    await site.run("20s");
    for (let term = 0; term < 3; term++) await nextTerm(site);
    site.silence("a", "b", "c");
    await nextTerm(site, { up: "20s" });
    expect(missed(site, "d")).toBeUndefined();
    site.revive("a", "b", "c");
    await nextTerm(site);
    expect(missed(site, "d")).toBe(90_000);
  });

  test("what is remembered of earlier terms is used up by the first pass", async () => {
    const site = await ledSite();
    site.silence("d");
    await site.run("20s");
    await nextTerm(site, { up: "1s" });
    expect([site.memory.boards.size, site.memory.silences.size]).toEqual([4, 0]);
  });
});

describe("a time between outages", () => {
  const heard = (site: SiteModel) => site.memory.respites.at(-1)?.heard;

  test("lasts until the last heartbeat arrived, and not until a pass saw it", async () => {
    const site = await ledSite();
    site.cut();
    await site.run("52s");
    site.restore();
    await site.lead({ recalled: site.recollection });
    // Heartbeats arrive at 8 s and 18 s, and a pass begins every five seconds.
    await site.run("21s");
    expect(heard(site)).toBe(18_000);
  });

  test("is not prolonged by bookmarks once no board is heard any more", async () => {
    const site = await ledSite({ gracePeriod: 120_000 });
    site.cut();
    await site.run("52s");
    site.restore();
    await site.lead({ recalled: site.recollection });
    await site.run("21s");
    site.silence(...names);
    await site.run("1m");
    expect(heard(site)).toBe(20_000);
  });

  test("has no known length while boards report only by their Nodes", async () => {
    const site = new SiteModel({ policy: "evidence" });
    for (const name of names) site.board(name, { lease: false });
    await site.run("20s");
    for (const name of names) site.report(name);
    await site.run("20s");
    expect([site.memory.boards.get("a")?.health.reportedAt !== undefined, heard(site)]).toEqual([true, 0]);
  });
});

describe("of a term, a process keeps the silence", () => {
  const at = (seconds: number): Instant => shifted({ mono: 1_000_000, wall: 0 }, 1000 * seconds);
  const gracePeriod = 60_000;

  interface Known {
    /** When its silence began. */
    readonly probe: number;
    readonly reportedAt?: number;
    readonly silentFrom?: number;
  }

  const record = (name: string, { probe, reportedAt, silentFrom }: Known): BoardRecord => {
    const health: Partial<NodeHealth> = {
      uid: `uid-${name}`,
      probe: at(probe),
      silentFrom: silentFrom === undefined ? undefined : at(silentFrom),
      reportedAt: reportedAt === undefined ? undefined : at(reportedAt),
      lease: "7",
      ready: { heartbeat: "H", transition: "T", isUnknown: false },
    };
    return { health } as BoardRecord;
  };

  const kept = (boards: Readonly<Record<string, Known>>) => {
    const all = new Map(Object.entries(boards).map(([name, known]) => [name, record(name, known)]));
    return recollect({ ...firstMemory, boards: all }, gracePeriod).silences;
  };

  test("of boards that were silent for a quarter of a grace period while others were heard", () => {
    const heard = { probe: 100, reportedAt: 100 };
    const silences = kept({ heard, late: { probe: 85.001, reportedAt: 85.001 }, dead: { probe: 85, reportedAt: 85 } });
    expect([...silences]).toEqual([["dead", { uid: "uid-dead", lease: "7", heartbeat: "H", since: at(85) }]]);
  });

  test("of none if the outage silenced all of them, or the term heard none", () => {
    expect(kept({ a: { probe: 100, reportedAt: 100 }, b: { probe: 98, reportedAt: 98 } }).size).toBe(0);
    expect(kept({ a: { probe: 10 }, b: { probe: 90 } }).size).toBe(0);
  });

  test("that an earlier term saw begin, from that beginning, even if it received no heartbeat itself", () => {
    const silences = kept({ a: { probe: 100 }, d: { probe: 100, silentFrom: 5 } });
    expect([...silences].map(([name, { since }]) => [name, since])).toEqual([["d", at(5)]]);
  });

  test("of the 500 boards that have been silent longest", () => {
    const dead = Array.from({ length: 600 }, (_, index) => [`pi-${index}`, { probe: (index * 7) % 600 }] as const);
    const silences = kept({ ...Object.fromEntries(dead), heard: { probe: 1000, reportedAt: 1000 } });
    expect([...silences.values()].map(({ since }) => since)).toEqual(
      Array.from({ length: 500 }, (_, second) => at(second)),
    );
  });
});
