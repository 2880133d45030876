import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { SystemClock } from "../../agent/base/clock.ts";
import { lastingEnd, lastingEndText } from "../../agent/base/time/lasting-end.ts";
import { bootId } from "../../agent/board/facts.ts";
import { readFact } from "../../agent/board/read-fact.ts";
import { CommandLog } from "../../storage/command-log.ts";
import { StateFolder } from "../../storage/state-folder.ts";
import type { AgentProcess } from "../support/agent-process.ts";
import { Card } from "../support/card.ts";
import { LinkedSite } from "../support/links/linked-site.ts";
import { canMount, mount, unmount } from "../support/mounts.ts";
import { rest } from "../support/rest.ts";
import { statePragmas } from "../support/state-pragmas.ts";
import { lack, soon, TestFleet } from "./site.ts";

const sites: LinkedSite[] = [];
const ends: (() => void)[] = [];
afterEach(async () => {
  for (const site of sites.splice(0)) await site.stop();
  for (const end of ends.splice(0)) end();
});

const me = "sw1/acme/plant7/pi-1";

/** Settings with which a site decides within seconds. */
const quick = {
  board: { name: "pi-1", clock: "trusted" },
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  nodeLifecycle: { monitorPeriod: "500ms" },
  // A small cache in memory, so that the file is read and written all the time.
  cache: { decodedBytes: "64KiB", sqlite: { cacheKiB: 64 } },
};

async function siteOn(folder: string, fleet: TestFleet): Promise<LinkedSite> {
  const mqtt = { ...fleet.agentSettings(), minInterval: "1s" };
  const config = { ...quick, site: { name: "plant7" }, state: { folder }, mqtt };
  const site = await new LinkedSite({ config }).start();
  sites.push(site);
  return site;
}

function disk(options: string): string {
  const parent = mkdtempSync(path.join(tmpdir(), "siteward-disk-"));
  const folder = mount(parent, options);
  ends.push(() => {
    unmount(folder);
    rmSync(parent, { recursive: true });
  });
  return folder;
}

/** Fills the disk. ENOSPC is expected, because the agent may write in between. */
function fillUp(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  try {
    writeFileSync(path.join(folder, "filler"), Buffer.alloc(bavail * bsize));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}

const remount = (folder: string, how: "ro" | "rw"): void => {
  execFileSync("mount", ["-o", `remount,${how}`, folder], { stdio: "pipe" });
};

const conditions = (agent: AgentProcess): readonly string[] =>
  agent.status()?.health.conditions.map(({ type }) => type) ?? [];

/** Waits for the answer to a command and returns it. */
async function answered(fleet: TestFleet, name: string, args: Record<string, unknown> = {}): Promise<unknown> {
  const id = await fleet.command(me, name, args);
  await soon(() => fleet.last(`${me}/res/${name}/${id}`)?.state).toMatch(/^(succeeded|rejected|failed)$/);
  return fleet.last(`${me}/res/${name}/${id}`);
}

const debug = { level: "debug", ttl: 600 };

/** Writes an accepted command like the desk. */
function accept(folder: string, id: string): void {
  const { state, cache } = open(folder);
  const moment = { now: new SystemClock().now(), bootId: bootId(readFact), isSynced: true };
  const end = lastingEndText(lastingEnd(600_000, moment));
  new CommandLog(state.database).admit({
    ...{ id, name: "log.level", scope: "board", origin: "mqtt", author: "ops:alice", hash: "h", state: "accepted" },
    payload: JSON.stringify({ v: 1, id, name: "log.level", args: debug, by: "ops:alice", reason: "a test" }),
    ...{ answer: "{}", lapses: end, keep: end },
  });
  for (const { database } of [cache, state]) database.closeWithoutCheckpoint();
}

const open = (folder: string): StateFolder => StateFolder.open({ folder, pragmas: statePragmas, stamp: "1" });

const sessions = (fleet: TestFleet): readonly number[] =>
  fleet
    .said(`${me}/up`)
    .filter(({ state }) => state === "online")
    .map(({ session }) => Number(session));

/** Checks that each number arrived once or, after a lost acknowledgement, again with the same content; gaps were reported. */
function expectSoundEvents(fleet: TestFleet): void {
  const events = fleet.events();
  const contents = new Map<number, string>();
  for (const { seq, type } of events) {
    expect(contents.get(seq) ?? type).toBe(type);
    contents.set(seq, type);
  }
  const dropped = events
    .filter(({ type }) => type === "outbox.dropped")
    .map(({ detail }) => [Number(detail.from), Number(detail.to)] as const)
    .flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at));
  const known = new Set([...contents.keys(), ...dropped]);
  expect(Array.from({ length: Math.max(...known) }, (_, at) => at + 1).filter((seq) => !known.has(seq))).toEqual([]);
}

const whyNoMount = lack ?? (canMount() ? undefined : "this user may not mount a file system");
const whyNoCard = lack ?? Card.whyNot();
for (const why of new Set([whyNoMount, whyNoCard]))
  if (why) console.log(`skipped: boards without storage, because ${why}`);

describe.skipIf(whyNoMount)("a board that starts with a read-only state folder", () => {
  test("joins its fleet, publishes and answers, refuses commands that it cannot store, and recovers without a restart", async () => {
    const fleet = await new TestFleet().start();
    const folder = disk("size=16m");
    const site = await siteOn(folder, fleet);
    const { agent } = site;
    await soon(() => agent.isReady).toBe(true);
    const known = await fleet.command(me, "log.level", debug, { id: "KNOWN", expiry: 600 });
    await soon(() => fleet.last(`${me}/res/log.level/${known}`)?.state).toBe("succeeded");
    await agent.stop("SIGKILL");
    // Accepted but not yet executed when the power failed.
    accept(folder, "PENDING");
    remount(folder, "ro");

    agent.start();
    await soon(() => conditions(agent)).toEqual(
      expect.arrayContaining(["AgentHeld", "StorageReadOnly", "NotStanding"]),
    );
    const { pid } = agent;
    await soon(() => sessions(fleet)).toEqual([1, 2]);
    await soon(() => agent.status()?.link?.api.state).toBe("up");
    await soon(() => JSON.stringify(fleet.last(`${me}/status`))).toContain("StorageReadOnly");
    expect(await answered(fleet, "ping")).toMatchObject({ state: "succeeded", code: 200 });
    expect(await answered(fleet, "status.get", { detail: "full" })).toMatchObject({ state: "succeeded" });
    expect(await answered(fleet, "log.level", debug)).toMatchObject({
      state: "rejected",
      code: 507,
      error: "journal-unavailable",
      message: expect.stringContaining("state.db: the file cannot be read or written"),
    });
    // A redelivered command that was executed before gets its former answer, not a refusal.
    const before = fleet.said(`${me}/res/log.level/${known}`).length;
    await fleet.command(me, "log.level", debug, { id: "KNOWN", expiry: 600 });
    await soon(() => fleet.said(`${me}/res/log.level/${known}`).length).toBeGreaterThan(before);
    expect(fleet.last(`${me}/res/log.level/${known}`)).toMatchObject({ state: "succeeded", replayed: true });
    // Longer than two terms: it does not lead, although there is no other board.
    await rest(14);
    expect([agent.pid, agent.leads]).toEqual([pid, false]);
    expect(fleet.said(`${me}/res/log.level/PENDING`)).toEqual([]);

    remount(folder, "rw");
    await soon(() => agent.isReady, 80).toBe(true);
    expect(agent.pid).toBe(pid);
    expect(conditions(agent)).not.toContain("AgentHeld");
    expect(conditions(agent)).not.toContain("StorageReadOnly");
    await soon(() => sessions(fleet)).toEqual([1, 2, 3]);
    await soon(() => fleet.last(`${me}/res/log.level/PENDING`)).toMatchObject({ state: "succeeded" });
    expect(await answered(fleet, "log.level", debug)).toMatchObject({ state: "succeeded" });
    await soon(() => fleet.last(`${me}/event/outbox.dropped`), 40).toBeDefined();
    await soon(() => fleet.said(`${me}/event/outbox.dropped`).length).toBe(1);
    expectSoundEvents(fleet);
  });
});

describe.skipIf(whyNoCard)("a card that fails while the board leads", () => {
  test("costs it the Lease but not the fleet; once repaired, the board resumes all accepted commands", async () => {
    const fleet = await new TestFleet().start();
    const card = new Card();
    ends.push(() => card.remove());
    const site = await siteOn(card.folder, fleet);
    const { agent } = site;
    await soon(() => agent.isReady).toBe(true);
    const { pid } = agent;
    expect(await answered(fleet, "log.level", debug)).toMatchObject({ state: "succeeded" });
    await fleet.command(me, "log.level", debug, { id: "KNOWN", expiry: 600 });
    await soon(() => fleet.last(`${me}/res/log.level/KNOWN`)?.state).toBe("succeeded");
    const eventsBefore = fleet.events().length;

    card.fail();
    await soon(() => conditions(agent), 40).toEqual(expect.arrayContaining(["AgentHeld", "StorageReadOnly"]));
    expect(agent.leads).toBe(false);
    await soon(() => sessions(fleet)).toEqual([1, 2]);
    expect(await answered(fleet, "ping")).toMatchObject({ state: "succeeded" });
    expect(await answered(fleet, "log.level", debug)).toMatchObject({ state: "rejected", code: 507 });

    // No file on it is open, so that it can be removed while the agent runs.
    card.mend();
    await soon(() => agent.isReady, 80).toBe(true);
    expect(agent.pid).toBe(pid);
    await soon(() => sessions(fleet)).toEqual([1, 2, 3]);
    const before = fleet.said(`${me}/res/log.level/KNOWN`).length;
    await fleet.command(me, "log.level", debug, { id: "KNOWN", expiry: 600 });
    await soon(() => fleet.said(`${me}/res/log.level/KNOWN`).length).toBeGreaterThan(before);
    // The broker may deliver the first answer again in between.
    await soon(() => fleet.last(`${me}/res/log.level/KNOWN`)).toMatchObject({ state: "succeeded", replayed: true });
    await soon(() => fleet.events().length, 40).toBeGreaterThan(eventsBefore);
    await soon(() => fleet.last(`${me}/event/outbox.dropped`), 40).toBeDefined();
    expectSoundEvents(fleet);
    expect(site.harm).toEqual([]);
    expect(await site.differences(card.folder)).toEqual([]);
  });
});

describe.skipIf(whyNoMount)("a disk that fills up while the board leads", () => {
  test("does not lose any accepted command, and accepts commands again once there is room", async () => {
    const fleet = await new TestFleet().start();
    const folder = disk("size=8m");
    const site = await siteOn(folder, fleet);
    const { agent } = site;
    await soon(() => agent.isReady).toBe(true);
    const { pid } = agent;
    fillUp(folder);
    expect(await answered(fleet, "log.level", debug)).toMatchObject({ state: "rejected", code: 507 });
    await soon(() => conditions(agent), 40).toContain("AgentHeld");
    expect(await answered(fleet, "ping")).toMatchObject({ state: "succeeded" });
    unlinkSync(path.join(folder, "filler"));
    await soon(() => agent.isReady, 80).toBe(true);
    expect(agent.pid).toBe(pid);
    expect(await answered(fleet, "log.level", debug)).toMatchObject({ state: "succeeded" });
    expectSoundEvents(fleet);
    expect(await site.differences(folder)).toEqual([]);
  });
});
