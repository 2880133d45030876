import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { EmbeddedBroker } from "../../../../simulator/broker/broker.ts";
import { EmbeddedSite } from "../../../../simulator/embedded-site.ts";
import { keyHelp, wishOf } from "../../../../simulator/keys.ts";
import { LocalServer } from "../../../../simulator/local-server.ts";
import { Story } from "../../../../simulator/scenarios/story.ts";
import { SiteApi } from "../../../../simulator/site-api/site-api.ts";
import {
  fleetName,
  siteName,
  statusFileOf,
  writeBoardFiles,
  writeKubeconfig,
} from "../../../../simulator/site-files.ts";
import { type AgentReport, isHealthy, lackOf } from "../../../../simulator/view/site-picture.ts";
import { makeFolder } from "../../../../storage/make-folder.ts";
import type { Ambient } from "../../../base/ambient.ts";
import { elapsed, type Millis, sleep } from "../../../base/clock.ts";
import { TaskGroup } from "../../../base/concurrency/tasks.ts";
import { ConfigError, sentenceOf } from "../../../base/errors.ts";
import { exit } from "../../../base/exit-codes.ts";
import type { Args, Io } from "../../../base/io.ts";
import { LineLogger } from "../../../base/logger.ts";
import { formatDuration } from "../../../base/time/duration.ts";
import { lifeline, nodeEnvironment, nodeFlags } from "../../../board/profile/runtime-flags.ts";
import { findStatus, thisMachine } from "../status/status-reader.ts";
import { keyboardOf } from "./keyboard.ts";
import { type UpOptions, upOptions } from "./up-options.ts";
import { canDraw, UpView } from "./up-view.ts";

const refreshEvery: Millis = 250;
const defaultBrokerPort = 1883;
/** Time limit for the site to become healthy; longer for more boards. */
const healthLimit = (boards: number): Millis => 60_000 + boards * 2000;

/** `siteward up`: runs a whole site on this machine until Ctrl-C, the end of `--for`, or the end of the scenario. */
export async function run(io: Io, args: Args): Promise<number> {
  let options: UpOptions;
  let folder: string;
  try {
    options = upOptions(args);
    folder = folderOf(options);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) io.stderr.line(`siteward: up: ${problem}`);
    return exit.usage;
  }
  const temporary = options.folder === undefined;
  const clean = (): void => {
    if (temporary && !args.flags.has("keep")) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  // Removes the folder even after an abrupt end: a second Ctrl-C, or a closed pipe.
  process.once("exit", clean);
  try {
    return await play(io, options, folder, args.flags.has("plain"));
  } finally {
    process.removeListener("exit", clean);
    clean();
  }
}

/** Creates the folder of the site, and the kubeconfig's. */
function folderOf({ folder, kubeconfig }: UpOptions): string {
  try {
    if (kubeconfig !== undefined) makeFolder(path.dirname(kubeconfig));
    if (folder === undefined) return mkdtempSync(path.join(os.tmpdir(), "siteward-up-"));
    makeFolder(folder);
    return folder;
  } catch (error) {
    throw new ConfigError([`cannot create a folder: ${sentenceOf(error)}`]);
  }
}

async function play(io: Io, options: UpOptions, folder: string, plain: boolean): Promise<number> {
  const { scenario } = options;
  const title = `siteward up: ${scenario.name}, boards: ${scenario.boards}, zones: ${scenario.zones}`;
  const keyboard = canDraw(io) && process.stdin.isTTY && !plain ? keyboardOf(process.stdin) : undefined;
  const view = new UpView(io, { title, plain, keys: keyboard && keyHelp });
  const write = (line: string): void => view.say(line);
  const log = new LineLogger({ level: "warn", format: "text", clock: io.clock, write });
  const ambient: Ambient = { clock: io.clock, random: io.random, log };

  const open = (): SiteApi => new SiteApi(ambient, { file: path.join(folder, "site.db") });
  const server = new LocalServer(ambient, { open });
  await server.start(options.port);
  const broker = new EmbeddedBroker(ambient);
  await broker.start(options.port === 0 ? 0 : defaultBrokerPort);
  const kubeconfig = options.kubeconfig ?? path.join(folder, "kubeconfig");
  writeKubeconfig(kubeconfig, server.port);
  view.introduce(introduction(io, options, { api: server.port, broker: broker.port }, kubeconfig, folder));

  const site = siteOf(io, ambient, options, { server, broker: broker.port }, folder);
  // The agents are child processes and must not outlive this one.
  const killAll = (): void => site.kill();
  process.prependOnceListener("exit", killAll);
  const running = new TaskGroup(io.signal);
  running.start("site", (signal) => site.run(signal));
  const viewing = new TaskGroup();
  viewing.start("view", async (signal) => {
    for (; !signal.aborted; await sleep(io.clock, refreshEvery, signal)) view.show(site.picture());
  });
  const stopListening = keyboard?.listen((key) => press(key, site, view));
  let code: number;
  try {
    code = await runSite(io, options, site, view, running.signal);
  } finally {
    stopListening?.();
    viewing.stop();
    await viewing.join();
    running.stop();
    await running.join();
    await server.stop();
    await broker.stop();
    process.removeListener("exit", killAll);
    if (options.isStory) view.close();
  }
  return code;
}

function press(key: string, site: EmbeddedSite, view: UpView): void {
  const picture = site.picture();
  const wish = wishOf(key, picture, view.selected);
  // In raw mode, the terminal does not turn Ctrl-C into a signal.
  if (wish?.do === "end") process.kill(process.pid, "SIGINT");
  if (wish?.do === "select") view.select(wish.board);
  if (wish?.do === "perform") {
    view.say(wish.said);
    site.perform(wish.deed, wish.boards);
  }
  view.show(site.picture());
}

/** Waits for a healthy site, plays the scenario if there is one, and returns the exit code. */
async function runSite(
  io: Io,
  options: UpOptions,
  site: EmbeddedSite,
  view: UpView,
  signal: AbortSignal,
): Promise<number> {
  // Shows the site first, so that changes are printed before the line that refers to them.
  const say = (line: string): void => {
    view.show(site.picture());
    view.say(line);
  };
  const begun = io.clock.now();
  const limit = Math.min(healthLimit(options.scenario.boards), options.duration ?? Number.POSITIVE_INFINITY);
  if (options.isStory) view.begin("before the story, ");
  while (!isHealthy(site.picture(), site.wantedPods)) {
    if (signal.aborted) return options.isStory ? exit.failed : exit.ok;
    if (elapsed(begun, io.clock.now()) >= limit) {
      const lacks = lackOf(site.picture(), site.wantedPods).join(", ");
      say(`FAILED the site did not become healthy within ${formatDuration(limit)}: ${lacks}`);
      return exit.failed;
    }
    await sleep(io.clock, 100, signal);
  }
  let failures = 0;
  if (options.isStory) {
    view.show(site.picture());
    view.begin("");
    say("the site is healthy; the story begins");
    const { steps, name } = options.scenario;
    failures = await new Story({ clock: io.clock }, { steps, stage: site, say }).run(signal);
    if (signal.aborted) {
      say(`${name}: interrupted; expectations not met yet: ${failures}`);
      return exit.failed;
    }
    say(failures === 0 ? `${name}: all expectations were met` : `${name}: FAILED expectations: ${failures}`);
    if (options.duration === undefined) return failures === 0 ? exit.ok : exit.failed;
  } else {
    say("the site is healthy");
  }
  const left = options.duration === undefined ? forever : options.duration - elapsed(begun, io.clock.now());
  if (left > 0) await sleep(io.clock, left, signal);
  return failures === 0 ? exit.ok : exit.failed;
}

const forever: Millis = 365 * 86_400_000;

function siteOf(
  io: Io,
  ambient: Ambient,
  options: UpOptions,
  { server, broker }: { readonly server: LocalServer; readonly broker: number },
  folder: string,
): EmbeddedSite {
  const { scenario, agents } = options;
  const files = new Map<string, string>();
  return new EmbeddedSite(ambient, {
    scenario,
    server,
    lease: { namespace: agents.leader.namespace, name: `siteward-${siteName}` },
    agentOf: ({ name }, port) => {
      const { config, log, status } = writeBoardFiles(folder, name, { api: port, broker }, scenario.config);
      files.set(name, status);
      const [program = process.execPath, ...self] = io.self;
      const environment = { ...agentEnvironment(io.env), ...nodeEnvironment, ...lifeline };
      return { program, arguments: [...nodeFlags, ...self, "run", "--config", config], environment, log };
    },
    reportOf: (board) => reportIn(files.get(board)),
  });
}

/** The variables of this shell that the agents need. Others are not passed on, because some might be settings. */
function agentEnvironment(env: Io["env"]): Io["env"] {
  const names = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"];
  return Object.fromEntries(names.map((name) => [name, env[name]]));
}

function reportIn(file: string | undefined): AgentReport | undefined {
  if (file === undefined) return undefined;
  const found = findStatus(file, thisMachine());
  if (found.kind !== "fresh") return undefined;
  const { leader, controllers = [], zones = [] } = found.status;
  return {
    role: leader?.role ?? "starting",
    queued: controllers.reduce((sum, { queue }) => sum + queue, 0),
    zones: zones.map(({ name, state }) => ({ name, state })),
  };
}

function introduction(
  io: Io,
  options: UpOptions,
  ports: { readonly api: number; readonly broker: number },
  kubeconfig: string,
  folder: string,
): string {
  const { api: port } = ports;
  const moved = options.port !== 0 && port !== options.port ? ` (port ${options.port} is taken)` : "";
  const end = options.isStory || options.duration !== undefined ? "Ctrl-C ends it early" : "Ctrl-C ends it";
  // A checkout has no `siteward` on the PATH.
  const program = io.env.npm_command === undefined ? "siteward" : "npm run siteward --";
  return (
    `A simulated site with real agents; its API is on http://127.0.0.1:${port}${moved}. Inspect it with\n` +
    `  kubectl --kubeconfig ${kubeconfig} get nodes\n` +
    `  ${program} status --file ${statusFileOf(folder, "pi-1")}\n` +
    `Its fleet's broker is at mqtt://127.0.0.1:${ports.broker} (MQTT 5). Receive its messages with\n` +
    `  mosquitto_sub -V mqttv5 -p ${ports.broker} -v -t 'sw1/${fleetName}/#'\n` +
    `Logs and files are in ${folder}. ${end}.\n\n`
  );
}
