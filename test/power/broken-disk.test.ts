import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import Sqlite from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { writeKubeconfig } from "../../simulator/site-files.ts";
import { AgentProcess, until } from "../support/agent-process.ts";
import { Card } from "../support/card.ts";
import { canMount, mount, unmount } from "../support/mounts.ts";
import { rest } from "../support/rest.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { Churn } from "./churn.ts";
import { differencesNow, readFolder } from "./mirror.ts";
import { RecordedSite } from "./recorded-site.ts";

/** One site for each story, because damage is permanent. */
let dir: string;
let site: RecordedSite;
let churn: Churn;
let kubeconfig: string;
const agents: AgentProcess[] = [];
const mounts: string[] = [];

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), "siteward-broken-"));
  site = new RecordedSite(dir, 1);
  churn = new Churn(site, new SeededRandom(2));
  kubeconfig = path.join(dir, "kubeconfig");
  writeKubeconfig(kubeconfig, await site.listen());
  churn.begin();
  // More than fits into the caches of SQLite and of decoded objects.
  churn.crowd(250);
});
afterEach(async () => {
  churn.pause();
  for (const agent of agents.splice(0)) await agent.stop("SIGKILL");
  for (const folder of mounts.splice(0)) unmount(folder);
  await site.close();
  rmSync(dir, { recursive: true });
});

const quick = {
  leader: { duration: "6s", renewDeadline: "4s", retry: "1s" },
  nodeLifecycle: { monitorPeriod: "500ms" },
  // A small cache in memory, so that the file is read all the time.
  cache: { decodedBytes: "64KiB", sqlite: { cacheKiB: 64 } },
};

function start(board: string, state = path.join(dir, board, "state")): AgentProcess {
  mkdirSync(state, { recursive: true });
  const agent = new AgentProcess({ dir, board, kubeconfig, config: { ...quick, state: { folder: state } } });
  agents.push(agent);
  agent.start();
  return agent;
}

const conditionMessage = (agent: AgentProcess, type: string): string | undefined =>
  agent.status()?.health.conditions.find((one) => one.type === type)?.message;

const when = (what: string, agent: AgentProcess, holds: () => boolean, seconds = 20): Promise<number> =>
  until(what, holds, seconds, () => `${JSON.stringify(agent.status()?.health)} ${agent.log().slice(-1500)}`);

/** Overwrites everything after the first bytes: the header of an open file is kept. */
function spoil(file: string, keep = 100): void {
  const size = Math.max(0, statSync(file).size - keep);
  writeFileSync(file, Buffer.concat([readFileSync(file).subarray(0, keep), Buffer.alloc(size, 0xa5)]));
}

function mounted(options: string): string {
  const folder = mount(dir, options);
  mounts.push(folder);
  return folder;
}

function fill(folder: string, left: number): () => void {
  const { bavail, bsize } = statfsSync(folder);
  const filler = path.join(folder, "filler");
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - left)));
  return () => unlinkSync(filler);
}

/** True if the files equal the server's objects, seen from outside. */
const isInStep = (state: string): boolean => {
  const folder = readFolder(state, path.join(dir, "copy"));
  return folder.problems.length === 0 && differencesNow(folder, site.history).length === 0;
};

test("a damaged cache is rebuilt at the next read, without a restart of the agent", async () => {
  const agent = start("pi-1");
  const state = path.join(agent.dir, "state");
  await when("it is ready", agent, () => agent.isReady);
  const { pid } = agent;
  for (const name of ["cache.db", "cache.db-wal"]) spoil(path.join(state, name), 32);
  churn.goOn();
  await when("the rebuild is reported", agent, () => conditionMessage(agent, "CacheRebuilt") !== undefined);
  churn.pause();
  expect(conditionMessage(agent, "CacheRebuilt")).toContain("cache.db: the file is damaged");
  await when("it is in step", agent, () => agent.isReady && isInStep(state));
  expect([agent.pid, agent.running]).toEqual([pid, true]);
});

test("a state damaged while the agent is off is set aside and reported in status and log, and the agent leads again", async () => {
  const agent = start("pi-1");
  const state = path.join(agent.dir, "state");
  await when("it is ready", agent, () => agent.isReady);
  await agent.stop("SIGKILL");
  for (const name of ["state.db", "state.db-wal"]) spoil(path.join(state, name), 0);
  agent.start();
  await when("it leads again", agent, () => agent.isReady);
  expect(conditionMessage(agent, "StateSetAside")).toMatch(
    /state\.db was damaged \(.+\) and is now \S+state\.db(-wal)?\.damaged-\d+$/,
  );
  expect(agent.log()).toMatch(/error.*state\.db was damaged and was moved aside/);
  expect(readdirSync(state).filter((name) => name.includes(".damaged-")).length).toBeGreaterThan(0);
  // It is reported only once.
  await agent.stop();
  agent.start();
  await when("it leads", agent, () => agent.isReady);
  expect(conditionMessage(agent, "StateSetAside")).toBeUndefined();
});

test("a lock on the cache by another process delays the agent only while it lasts", async () => {
  const state = path.join(dir, "pi-1", "state");
  const agent = start("pi-1", state);
  await when("it is ready", agent, () => agent.isReady);
  // The next renewal confirms the lists: after a fault before that, the agent lists again.
  await rest(2);
  const { pid } = agent;
  const other = new Sqlite(path.join(state, "cache.db"), { timeout: 1000 });
  other.exec("BEGIN IMMEDIATE");
  churn.goOn();
  // Longer than any toleration here: the agent does not know changes that it cannot store.
  await new Promise((resolve) => setTimeout(resolve, 6000));
  churn.pause();
  expect(agent.running).toBe(true);
  other.exec("ROLLBACK");
  other.close();
  await when("it is in step", agent, () => agent.isReady && isInStep(state));
  expect(agent.pid).toBe(pid);
  expect(site.ledger.problems).toEqual([]);
});

const why = canMount() ? undefined : "this user may not mount a file system";
if (why !== undefined) console.log(`skipped: disks that are full or read-only, because ${why}`);
const mounting = test.skipIf(why !== undefined);

mounting(
  "when the disk fills up, the Lease goes to a board with room, and the agent keeps running and reports why",
  async () => {
    const disk = mounted("size=6m");
    const full = start("pi-full", disk);
    await when("it leads", full, () => full.isReady);
    const { pid } = full;
    const room = fill(disk, 8192);
    const other = start("pi-other");
    churn.goOn();
    await when("it is held, or does not stand", full, () => !full.leads, 30);
    churn.pause();
    await when("the other one leads", other, () => other.isReady, 30);
    await when("it reports why", full, () =>
      /the disk is full|less than 1 MiB/.test(JSON.stringify(full.status()?.health)),
    );
    // Without a restart: the process checks again, and never takes the Lease from a healthy board.
    const terms = Number(other.status()?.leader?.term);
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect([full.pid, full.running, other.leads]).toEqual([pid, true, true]);
    expect(Number(other.status()?.leader?.term)).toBe(terms);

    room();
    await other.stop();
    await when("it leads again", full, () => full.isReady, 90);
    expect(full.pid).toBe(pid);
    await when("it is in step", full, () => isInStep(disk));
    expect(site.ledger.problems.filter((problem) => problem.includes("deleted"))).toEqual([]);
  },
);

mounting(
  "with a disk that is read-only at the start, the agent releases the Lease, and resumes once it can write",
  async () => {
    const disk = mounted("size=16m");
    const agent = start("pi-1", disk);
    await when("it leads", agent, () => agent.isReady);
    const { pid } = agent;
    const remount = (how: string): void => {
      execFileSync("mount", ["-o", `remount,${how}`, disk], { stdio: "pipe" });
    };
    // A file system with files open for writing cannot be remounted read-only; on a failing card the kernel forces it.
    await agent.stop("SIGKILL");
    remount("ro");
    agent.start();
    await when("it is held", agent, () => conditionMessage(agent, "AgentHeld") !== undefined);
    expect(conditionMessage(agent, "AgentHeld")).toMatch(
      /cannot be read or written; until the state folder can be written, this board reports and answers/,
    );
    const held = agent.pid;
    expect(held).not.toBe(pid);
    remount("rw");
    await when("it leads again", agent, () => agent.isReady, 30);
    expect(agent.pid).toBe(held);
    expect(conditionMessage(agent, "AgentHeld")).toBeUndefined();
  },
);

const noCard = Card.whyNot();
if (noCard !== undefined) console.log(`skipped: failing cards, because ${noCard}`);

test.skipIf(noCard !== undefined)(
  "when a leader's card fails, another board leads, and keeps the Lease after the repair; nothing is lost",
  async () => {
    const card = new Card();
    try {
      const agent = start("pi-1", card.folder);
      await when("it leads", agent, () => agent.isReady);
      const other = start("pi-2");
      await when("the other one stands by", other, () => other.status()?.leader?.role === "standby");
      const { pid } = agent;
      card.fail();
      churn.goOn();
      await when("it is held", agent, () => conditionMessage(agent, "AgentHeld") !== undefined, 30);
      await when("the other one leads", other, () => other.isReady, 30);
      churn.pause();
      expect(conditionMessage(agent, "StorageReadOnly")).toMatch(/is read-only: /);
      await when("it follows the new leader", agent, () => agent.status()?.leader?.holder === "pi-2");
      const term = other.status()?.leader?.term;
      card.mend();
      await when("it is healthy again", agent, () => conditionMessage(agent, "AgentHeld") === undefined, 70);
      expect([agent.pid, agent.leads, other.leads, other.status()?.leader?.term]).toEqual([pid, false, true, term]);
      expect(conditionMessage(agent, "StorageReadOnly")).toBeUndefined();
      await other.stop();
      await when("it leads again", agent, () => agent.isReady, 30);
      await when("it is in step", agent, () => isInStep(card.folder));
      expect(site.ledger.problems.filter((problem) => problem.includes("deleted"))).toEqual([]);
      await agent.stop();
    } finally {
      for (const agent of agents.splice(0)) await agent.stop("SIGKILL");
      card.remove();
    }
  },
);

test.skipIf(noCard !== undefined)(
  "a board that starts on a failed card does not take a Lease, not even a free one",
  async () => {
    const card = new Card();
    try {
      const agent = start("pi-1", card.folder);
      await when("it leads", agent, () => agent.isReady);
      await agent.stop("SIGKILL");
      const before = agent.log().length;
      // Queries alone show nothing wrong with such a file system.
      card.fail();
      agent.start();
      await when("it is held", agent, () => conditionMessage(agent, "AgentHeld") !== undefined);
      await new Promise((resolve) => setTimeout(resolve, 15_000));
      expect(agent.log().slice(before)).not.toContain("term began");
      expect([agent.running, agent.leads]).toEqual([true, false]);
    } finally {
      for (const agent of agents.splice(0)) await agent.stop("SIGKILL");
      card.remove();
    }
  },
);
