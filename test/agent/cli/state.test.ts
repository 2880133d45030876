import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { CommandLog } from "../../../storage/command-log.ts";
import { Database } from "../../../storage/database/database.ts";
import { stateMigrations } from "../../../storage/schema.ts";
import { createNewerFile, pragmas } from "../../storage/object-store.ts";
import { AgentProcess, until } from "../../support/agent-process.ts";
import { canMount, mount, unmount } from "../../support/mounts.ts";
import { isBuilt } from "../../support/shipped.ts";
import { siteward } from "../../support/siteward-command.ts";

/** With an API server that is not there: the program needs none to look after its own files. */
const built = test.skipIf(!isBuilt);
const dir = mkdtempSync(path.join(tmpdir(), "siteward-state-"));
const agents: AgentProcess[] = [];
const mounts: string[] = [];
let boards = 0;

afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.stop("SIGKILL");
  for (const folder of mounts.splice(0)) unmount(folder);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function agentWith(config: Readonly<Record<string, object>> = {}, board = `pi-${++boards}`): AgentProcess {
  const agent = new AgentProcess({ dir, board, kubeconfig: path.join(dir, "no-kubeconfig"), config });
  agents.push(agent);
  return agent;
}

async function ended(agent: AgentProcess): Promise<number | null | undefined> {
  agent.start();
  await until("it ends", () => !agent.running, 10);
  return agent.exitCode;
}

const started = (agent: AgentProcess): Promise<number> => {
  agent.start();
  return until(
    "the first status",
    () => agent.status() !== undefined,
    10,
    () => agent.log(),
  );
};

/** The last words, in the status file of an agent that is gone. */
const lastWords = (agent: AgentProcess) =>
  agent.status()?.health.conditions.map(({ type, message }) => `${type}: ${message}`);

const stateOf = (agent: AgentProcess, file: string): string => path.join(agent.dir, "state", file);

built(
  "two agents with one state folder: the second reports it and exits with 1, the first is not affected",
  async () => {
    const first = agentWith();
    await started(first);
    const state = { folder: path.join(first.dir, "state") };
    const run = { folder: path.join(first.dir, "run") };
    const second = agentWith({ state, run });
    expect(await ended(second)).toBe(1);
    expect(second.log()).toMatch(
      /^siteward: \S+state\.db: the file is in use by another process\n {2}Another agent uses this state folder: /m,
    );
    expect(first.status()?.pid).toBe(first.pid);

    await first.stop("SIGKILL");
    const third = agentWith({ state });
    await started(third);
    expect(third.running).toBe(true);
  },
);

built("a state folder that is removed while the agent runs is a problem until the next start", async () => {
  const agent = agentWith({ status: { every: "2s", minInterval: "1s" } });
  await started(agent);
  expect(lastWords(agent)?.join()).not.toContain("StateLost");
  rmSync(path.join(agent.dir, "state"), { recursive: true });
  await until(
    "the status says it",
    () => lastWords(agent)?.some((words) => words.startsWith("StateLost: state.db was removed")) === true,
    10,
  );
  await agent.stop("SIGKILL");
  await started(agent);
  expect(lastWords(agent)?.join()).not.toContain("StateLost");
});

built("a state folder that cannot be created is reported, and the status says why the agent ended", async () => {
  const file = path.join(dir, "a-file");
  writeFileSync(file, "");
  const agent = agentWith({ state: { folder: path.join(file, "state") } });
  expect(await ended(agent)).toBe(1);
  expect(agent.log()).toMatch(
    /^siteward: \S+a-file\/state: the file cannot be read or written\n {2}Create the folder /m,
  );
  expect(lastWords(agent)).toEqual([expect.stringMatching(/^AgentEnded: \S+a-file\/state: /)]);
  const { code, stdout } = await siteward(["status", "--file", agent.statusFile]);
  expect(code).toBe(3);
  expect(stdout).toMatch(/^STALE .*pid \d+ gone.*\n.* was critical\n {2}! AgentEnded /);
});

built(
  "a state folder, a status folder and a folder of siteward up below /proc, where none can be created, are reported within seconds",
  async () => {
    const stateless = agentWith({ state: { folder: "/proc/none/state" } });
    expect(await ended(stateless)).toBe(1);
    expect(stateless.log()).toMatch(
      /^siteward: \/proc\/none\/state: the file cannot be read or written\n {2}Create the folder /m,
    );
    const silent = agentWith({ run: { folder: "/proc/none" } });
    silent.start();
    await until("it is said", () => silent.log().includes("the status file cannot be written"), 10);
    const { code, stderr } = await siteward(["up", "--port", "0", "--dir", "/proc/none/below"]);
    expect(code).toBe(64);
    expect(stderr).toMatch(/^siteward: up: cannot create a folder: E\w+: .*\/proc\/none[^\n]*\n$/);
    expect(await siteward(["up", "--port", "0", "--kubeconfig", "/proc/none/below"])).toMatchObject({
      code: 64,
      stderr: "siteward: up: --kubeconfig: the folder /proc/none does not exist\n",
    });
  },
);

built.for(["cache.db", "state.db"])(
  "a %s of a newer version makes the agent exit with 78, and stays unchanged",
  async (file) => {
    const agent = agentWith();
    mkdirSync(path.join(agent.dir, "state"), { recursive: true });
    createNewerFile(stateOf(agent, file));
    expect(await ended(agent)).toBe(78);
    expect(agent.log()).toMatch(
      /written by a newer version of siteward\n {2}Install that version again, or move the file away\./,
    );
    expect(lastWords(agent)?.[0]).toContain("written by a newer version");
  },
);

built(
  "files of which the card kept only the names are reported until the next start, with what was lost in them",
  async () => {
    const agent = agentWith();
    mkdirSync(path.join(agent.dir, "state"), { recursive: true });
    for (const file of ["cache.db", "state.db"]) writeFileSync(stateOf(agent, file), "");
    await started(agent);
    const conditions = agent.status()?.health.conditions ?? [];
    expect(conditions.find(({ type }) => type === "CacheRebuilt")?.message).toContain("it is empty");
    expect(conditions.find(({ type }) => type === "StateSetAside")).toMatchObject({
      message: expect.stringMatching(/^state\.db was damaged \(it is empty\) and is now .*state\.db\.damaged-\d+$/),
      hint: expect.stringContaining("running toleration times started over"),
    });
    expect(await agent.stop()).toBe(0);
    await started(agent);
    expect(agent.status()?.health.conditions.map(({ type }) => type)).not.toContain("StateSetAside");
  },
);

built(
  "a damaged cache is recreated, and a damaged state.db is moved aside: both are reported, and the agent continues",
  async () => {
    const agent = agentWith();
    mkdirSync(path.join(agent.dir, "state"), { recursive: true });
    for (const file of ["cache.db", "state.db"])
      writeFileSync(stateOf(agent, file), "not a database at all".repeat(300));
    await started(agent);
    const types = agent.status()?.health.conditions.map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(["CacheRebuilt", "StateSetAside"]));
    expect(readdirSync(path.join(agent.dir, "state"))).toContainEqual(
      expect.stringMatching(/^state\.db\.damaged-\d+$/),
    );
    expect(agent.running).toBe(true);
  },
);

built("a stored answer to a command that cannot be read is reported", async () => {
  const agent = agentWith();
  mkdirSync(path.join(agent.dir, "state"), { recursive: true });
  const state = Database.open({ file: stateOf(agent, "state.db"), migrations: stateMigrations, pragmas });
  const payload = JSON.stringify({ v: 1, id: "ONE", name: "eviction.freeze", args: { ttl: 600 }, reason: "a test" });
  const row = { id: "ONE", name: "eviction.freeze", scope: "site", origin: "mqtt", author: "alice", hash: "", payload };
  const log = new CommandLog(state);
  log.admit({ ...row, state: "accepted", answer: "{}", lapses: "", keep: "" });
  log.settle("ONE", "succeeded", '{"v":1,"st', false);
  state.close();
  await started(agent);
  const problem = "CommandRecordDamaged: the stored answer to command ONE cannot be read";
  await until(
    "it is reported",
    () => lastWords(agent)?.includes(problem) === true,
    20,
    () => agent.log(),
  );
  expect(agent.running).toBe(true);
});

built("a deleted run folder is recreated; one that cannot be written does not stop anything", async () => {
  const agent = agentWith({ status: { minInterval: "200ms", every: "1s" } });
  await started(agent);
  rmSync(path.join(agent.dir, "run"), { recursive: true });
  await until("the status is back", () => agent.status() !== undefined, 5);

  const file = path.join(dir, "no-folder");
  writeFileSync(file, "");
  const other = agentWith({ run: { folder: file } });
  other.start();
  await until("it is said", () => other.log().includes("the status file cannot be written"), 10);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(other.running).toBe(true);
});

const mounting = test.skipIf(!isBuilt || !canMount());

function mounted(options: string): string {
  const folder = mount(dir, options);
  mounts.push(folder);
  return folder;
}

mounting("on a read-only file system the agent waits, says what to check, and starts once it can write", async () => {
  const folder = mounted("size=4m,ro");
  const agent = agentWith({ state: { folder } });
  await started(agent);
  expect(lastWords(agent)).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^AgentHeld: \S+state\.db: the file cannot be read or written; until the state folder can be written, this board reports and answers/,
      ),
      expect.stringMatching(/^StorageReadOnly: /),
      expect.stringMatching(/^NotStanding: /),
    ]),
  );
  expect(agent.log()).toMatch(/error the state folder is not writable, so .*not mounted read-only/);
  execFileSync("mount", ["-o", "remount,rw", folder], { stdio: "pipe" });
  await until("it begins", () => !lastWords(agent)?.some((words) => words.startsWith("AgentHeld")), 15);
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(["cache.db", "state.db"]));
});

mounting(
  "on a full file system the agent waits, says so, and starts once there is room; a stop ends the wait immediately",
  async () => {
    const folder = mounted("size=64k");
    writeFileSync(path.join(folder, "filler"), Buffer.alloc(56 * 1024));
    const agent = agentWith({ state: { folder } });
    await started(agent);
    expect(lastWords(agent)).toContainEqual(expect.stringMatching(/^AgentHeld: .*the disk is full;/));
    expect(agent.log()).toMatch(/Free some space on the file's disk/);
    expect(await agent.stop()).toBe(0);
  },
);

mounting(
  "on a read-only file system without the folder the agent waits too, and starts once it can create the folder",
  async () => {
    const folder = path.join(mounted("size=4m,ro"), "below/state");
    const agent = agentWith({ state: { folder } });
    await started(agent);
    expect(lastWords(agent)).toContainEqual(
      expect.stringMatching(/^AgentHeld: \S+below\/state: the file cannot be read/),
    );
    execFileSync("mount", ["-o", "remount,rw", path.resolve(folder, "../..")], { stdio: "pipe" });
    await until("it begins", () => !lastWords(agent)?.some((words) => words.startsWith("AgentHeld")), 15);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(["cache.db", "state.db"]));
    expect(readdirSync(path.join(agent.dir, "run"))).not.toContain("makeshift");
  },
);

mounting(
  "if there is no place for a makeshift either, the agent waits, says so in its log, and starts once it can",
  async () => {
    const [folder, run] = [mounted("size=4m,ro"), mounted("size=4m,ro")];
    const agent = agentWith({ state: { folder }, run: { folder: run } });
    agent.start();
    await until("it is said", () => agent.log().includes("the agent cannot run now and will try again"), 10);
    for (const at of [folder, run]) execFileSync("mount", ["-o", "remount,rw", at], { stdio: "pipe" });
    await until("it begins", () => readdirSync(folder).includes("cache.db"), 30);
    expect(agent.running).toBe(true);
  },
);

mounting("a reload on a makeshift stays on it; a reload that names a writable folder starts there", async () => {
  const folder = mounted("size=4m,ro");
  const agent = agentWith({ state: { folder } });
  await started(agent);
  const file = path.join(agent.dir, "siteward.yaml");
  const reload = (from: string, to: string): void => {
    writeFileSync(file, readFileSync(file, "utf8").replace(from, to));
    process.kill(agent.pid, "SIGHUP");
  };
  reload("minInterval: 200ms", "minInterval: 300ms");
  await until(
    "it was read",
    () => agent.log().includes("the configuration was read again outcome=begins"),
    10,
    () => agent.log(),
  );
  // The status of the life before said the same.
  await new Promise((resolve) => setTimeout(resolve, 700));
  await until("the next life", () => lastWords(agent)?.some((words) => words.startsWith("AgentHeld")) === true, 10);
  const other = path.join(agent.dir, "other");
  reload(folder, other);
  await until("it begins", () => !lastWords(agent)?.some((words) => words.startsWith("AgentHeld")), 15);
  await until("its files are there", () => existsSync(path.join(other, "cache.db")), 15);
});
