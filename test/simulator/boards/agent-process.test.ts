import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SystemClock } from "../../../agent/base/clock.ts";
import { SystemRandom } from "../../../agent/base/random.ts";
import { AgentProcess } from "../../../simulator/boards/agent-process.ts";
import { RecordingLog } from "../../support/recording-log.ts";

let folder: string;
let log: RecordingLog;
let power: AbortController;
let agent: AgentProcess;
let running: Promise<void>;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "siteward-test-"));
  log = new RecordingLog();
  power = new AbortController();
});

afterEach(async () => {
  power.abort();
  await running;
  rmSync(folder, { recursive: true });
});

/** A program in place of an agent: it is prepared, says "up", and then does what is asked. */
function start(program: string, prepared = ""): void {
  const command = {
    program: process.execPath,
    arguments: ["-e", `${prepared} console.log("up", process.env.BOARD); ${program}`],
    environment: { BOARD: "pi-1" },
    log: path.join(folder, "agent.log"),
  };
  agent = new AgentProcess({ clock: new SystemClock(), random: new SystemRandom(), log }, { command });
  running = agent.run(power.signal);
}

const stay = "setInterval(() => {}, 1000);";
const said = (): string =>
  existsSync(path.join(folder, "agent.log")) ? readFileSync(path.join(folder, "agent.log"), "utf8") : "";

test("an agent's output goes to its log, and its memory use is known while it runs", async () => {
  start(stay);
  await until(() => said() === "up pi-1\n");
  expect(agent.state).toBe("running");
  const memory = agent.memory();
  expect(memory?.rss).toBeGreaterThan(10e6);
  expect(memory?.anonymous).toBeLessThan(memory?.rss ?? 0);
});

test("an agent that is asked to end may announce its end", async () => {
  start(stay, 'process.on("SIGTERM", () => { console.log("bye"); process.exit(0); });');
  await until(() => said() !== "");
  power.abort();
  await running;
  expect(said()).toBe("up pi-1\nbye\n");
  expect(agent.state).toBe("off");
  expect(agent.memory()).toBeUndefined();
});

test("an agent without power announces nothing", async () => {
  start(stay, 'process.on("SIGTERM", () => console.log("bye"));');
  await until(() => said() !== "");
  agent.kill();
  power.abort();
  await running;
  expect(said()).toBe("up pi-1\n");
});

test("a suspended agent is still stopped cleanly", async () => {
  start(stay, 'process.on("SIGTERM", () => process.exit(0));');
  await until(() => said() !== "");
  agent.suspend();
  expect(agent.state).toBe("suspended");
  power.abort();
  await running;
  expect(agent.state).toBe("off");
});

test("an agent that ends by itself is started again", async () => {
  start("process.exit(1);");
  await until(() => said() === "up pi-1\nup pi-1\n", 5000);
  expect(log.said("warn")).toContain("an agent exited unexpectedly");
});

test("an agent with an unusable configuration is not restarted", async () => {
  start("process.exit(78);");
  await running;
  expect(agent.state).toBe("failed");
  expect(said()).toBe("up pi-1\n");
});

test("an agent whose watcher is gone sees its standard input end", async () => {
  const [main, board] = [path.join(folder, "watcher.mts"), path.join(folder, "agent.log")];
  const root = path.resolve(import.meta.dirname, "../../..");
  const program = `${stay} console.log(process.pid); process.stdin.once("close", () => process.exit(0)).resume();`;
  writeFileSync(
    main,
    `import { SystemClock } from "${root}/agent/base/clock.ts";
    import { SystemRandom } from "${root}/agent/base/random.ts";
    import { AgentProcess } from "${root}/simulator/boards/agent-process.ts";
    const ambient = { clock: new SystemClock(), random: new SystemRandom(), log: console };
    const command = { program: process.execPath, arguments: ["-e", ${JSON.stringify(program)}], environment: {}, log: "${board}" };
    await new AgentProcess(ambient, { command }).run(new AbortController().signal);`,
  );
  const watcher = spawn(process.execPath, [main], { stdio: "ignore" });
  running = Promise.resolve();
  await until(() => Number(said()) > 0, 10_000);
  const pid = Number(said());
  expect(isAlive(pid)).toBe(true);
  watcher.kill("SIGKILL");
  await until(() => !isAlive(pid), 5000);
});

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`);

async function until(holds: () => boolean, limit = 2500): Promise<void> {
  for (const end = Date.now() + limit; !holds() && Date.now() < end; ) await new Promise((go) => setTimeout(go, 10));
  expect(holds()).toBe(true);
}
