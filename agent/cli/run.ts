import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import { StorageError } from "../../storage/errors.ts";
import { makeFolder } from "../../storage/make-folder.ts";
import { type OpenedState, removeCache } from "../../storage/open.ts";
import { StateFolder } from "../../storage/state-folder.ts";
import { Agent, type Edges } from "../assemble.ts";
import type { Ambient } from "../base/ambient.ts";
import { deadline, elapsed, type Instant, type Millis } from "../base/clock.ts";
import { ConfigError, hintOf, isUnforeseen, sentenceOf } from "../base/errors.ts";
import { LineLogger } from "../base/logger.ts";
import { TaskGroup } from "../base/tasks.ts";
import { bootClock, bootId, hardware, model, processMemory, ramBytes } from "../board/facts.ts";
import { readFact } from "../board/read-fact.ts";
import type { Credentials } from "../client/credentials.ts";
import { HttpTransport } from "../client/http-transport.ts";
import { defaultHealth } from "../client/http2-wire.ts";
import { KubeconfigCredentials } from "../client/kubeconfig-credentials.ts";
import { ServiceAccountCredentials, serviceAccountFolder } from "../client/service-account-credentials.ts";
import type { Config } from "../config/settings.ts";
import type { ProblemPart } from "../status/parts.ts";
import { replaceFile } from "../status/replace-file.ts";
import { snapshot } from "../status/snapshot.ts";
import { StatusFile } from "../status/status-file.ts";
import { afterFailure, type Failed } from "./after-failure.ts";
import { exit } from "./exit-codes.ts";
import type { Io, Run } from "./io.ts";
import { configOf } from "./load-config.ts";
import { statusParts } from "./status-parts.ts";
import { version } from "./version.ts";

/** `siteward run`: the agent of this board, until it is told to stop. */
export const run: Run = async (io, args) => {
  const loaded = configOf(io, args.values.get("config"));
  const { config } = loaded;
  const ambient = ambientOf(io, config);
  for (const warning of loaded.warnings) ambient.log.warn("configuration", { warning });
  const credentials = credentialsOf(io, config, ambient);
  const transport = new HttpTransport(ambient, {
    credentials,
    proxies: {
      proxy: config.api.proxy ?? io.env.HTTPS_PROXY ?? io.env.https_proxy,
      except: io.env.NO_PROXY ?? io.env.no_proxy,
    },
    health: defaultHealth,
    timeout: config.client.timeouts.write,
  });
  const life: Life = {
    io,
    loaded,
    ambient,
    startedAt: ambient.clock.now(),
    agent: undefined,
    failure: undefined,
    isHeld: false,
    setAside: undefined,
  };
  const status = statusFile(life);
  const edges = { config, transport: transport.send, address: () => addressOf(credentials), bootId: bootId(readFact) };
  const failures: Failed[] = [];
  let rebuilt: Error | undefined;
  try {
    while (!io.signal.aborted) {
      life.failure = await once(life, status, { ...edges, version, rebuilt, news: () => status.news() });
      if (life.failure === undefined) return exit.ok;
      const { error } = life.failure;
      const now = ambient.clock.now();
      const next = afterFailure(error, failures, now);
      failures.push({ error, at: now });
      if (failures.length > mostRemembered) failures.shift();
      if (next.do === "end") return ended(life, status, error);
      if (next.do === "wait") await held(life, status, error, next.pause);
      else if (next.rebuild) {
        rebuilt = error instanceof Error ? error : undefined;
        ambient.log.warn("the cache is thrown away and filled again", { error });
        removeCache(join(config.state.folder, "cache.db"));
      } else ambient.log.error("what the agent remembers is damaged and is begun anew", { error, hint: hintOf(error) });
    }
    return exit.ok;
  } finally {
    transport.close();
  }
};

/** Failures that decide what follows the next one. */
const mostRemembered = 16;

/** The process, over several agents if its cache is thrown away in between. */
interface Life {
  readonly io: Io;
  readonly loaded: ReturnType<typeof configOf>;
  readonly ambient: Ambient;
  readonly startedAt: Instant;
  agent: Agent | undefined;
  /** What the last agent ended with. */
  failure: { readonly error: unknown } | undefined;
  /** It is tried again after a pause. */
  isHeld: boolean;
  /** Told as long as the process lives, however many agents that takes. */
  setAside: OpenedState["setAside"];
}

/** One life of the assembled agent. Answers what it ended with, `undefined` where it was told to end. */
async function once(life: Life, status: StatusFile, edges: Omit<Edges, "folder" | "place">): Promise<Life["failure"]> {
  const { io, ambient, startedAt } = life;
  const { state, cache } = edges.config;
  let folder: StateFolder | undefined;
  try {
    folder = StateFolder.open({ folder: state.folder, pragmas: cache.sqlite, stamp: String(ambient.clock.now().wall) });
    life.setAside = folder.state.setAside ?? life.setAside;
    tellOpened(folder, ambient);
    const place = `${hardware(readFact) ?? edges.bootId} ${folder.copy}`;
    const agent = new Agent(ambient, { ...edges, folder, place });
    life.agent = agent;
    const tasks = new TaskGroup(io.signal);
    tasks.start("agent", (signal) => agent.run(signal));
    tasks.start("status", (signal) => status.run(signal));
    await tasks.join();
    status.write();
    folder.close();
    ambient.log.info("stopped", { afterMs: Math.round(elapsed(startedAt, ambient.clock.now())) });
    return undefined;
  } catch (error) {
    folder?.abandon();
    return { error: causeOf(error) };
  } finally {
    life.agent = undefined;
  }
}

function tellOpened({ state: { setAside }, cache: { rebuilt } }: StateFolder, { log }: Ambient): void {
  if (setAside)
    log.error("what the agent remembered was damaged and is kept aside", { file: setAside.file, error: setAside.why });
  if (rebuilt) log.warn("the cache was damaged and is filled again", { error: rebuilt });
}

/** A task group names the task that failed, as the groups around it do; what it failed with is what a person can use. */
function causeOf(error: unknown): unknown {
  let at = error;
  while (at instanceof Error && !("disposition" in at) && at.cause !== undefined) at = at.cause;
  return at;
}

function statusFile(life: Life): StatusFile {
  const { io, ambient, startedAt } = life;
  const { config, profile, files, warnings } = life.loaded;
  return new StatusFile(ambient, {
    file: join(config.run.folder, "status.json"),
    limits: config.status,
    replace: (file, text) => {
      // Somebody may clean up a tmpfs while the agent runs.
      makeFolder(config.run.folder);
      replaceFile(file, text);
    },
    take: (before, writeFailures) => {
      const now = ambient.clock.now();
      const parts = {
        now,
        process: {
          pid: process.pid,
          version,
          startedAt,
          bootId: bootId(readFact),
          bootMs: bootClock(readFact) ?? 0,
          staleAfter: 3 * config.status.every,
          invocationId: io.env.INVOCATION_ID,
          writeFailures,
        },
        identity: { site: config.site.name, board: config.board.name, node: config.board.node, profile: profile?.id },
        memory: { ...processMemory(readFact), heapUsedBytes: process.memoryUsage().heapUsed },
        board: { model: model(readFact), ramBytes: ramBytes(readFact) },
        config: { files, warnings },
        ...(life.agent
          ? statusParts({ ...life.agent.views(now), setAside: life.setAside }, now)
          : { problems: endProblems(life) }),
      };
      return snapshot(parts, before);
    },
  });
}

/** Why there is no agent any more, or none for a while. */
const endProblems = ({ failure, isHeld }: Life): readonly ProblemPart[] =>
  failure ? [{ type: isHeld ? "AgentHeld" : "AgentEnded", severity: "critical", ...told(failure.error) }] : [];

/** A StorageError's sentence says it all; SQLite's own words for the same are for the log. */
const told = (error: unknown): { readonly message: string; readonly hint: string | undefined } => ({
  message: error instanceof StorageError ? error.message : sentenceOf(error),
  hint: hintOf(error),
});

/** No agent for so long. The status goes on: it says why, and what a person can do. */
async function held(life: Life, status: StatusFile, error: unknown, pause: Millis): Promise<void> {
  const { clock, log } = life.ambient;
  log.error("the agent cannot go on now, and tries again", { error, hint: hintOf(error), pauseMs: pause });
  const over = deadline(clock, pause, life.io.signal, () => new Error("the pause is over"));
  life.isHeld = true;
  status.write();
  try {
    await status.run(over.signal);
  } finally {
    over.dispose();
    life.isHeld = false;
  }
}

/** One sentence and what to do about it; the exit code tells systemd whether another start can help. */
function ended({ io, ambient: { log }, loaded }: Life, status: StatusFile, error: unknown): number {
  if (error instanceof ConfigError) throw error;
  // The status file of a folder that another agent holds is that agent's.
  if (!(error instanceof StorageError && error.kind === "busy")) status.write();
  const { message, hint } = told(error);
  const stack = isUnforeseen(error) && error instanceof Error ? error.stack : undefined;
  if (formatOf(io, loaded.config) === "json") log.error("the agent cannot go on", { error, hint, stack });
  else io.stderr.write(`siteward: ${message}${hint === undefined ? "" : `\n  ${hint}`}\n${stack ? `${stack}\n` : ""}`);
  return error instanceof StorageError && error.kind === "newer" ? exit.config : exit.failed;
}

const formatOf = ({ stdout }: Io, { log }: Config): "json" | "text" =>
  log.format === "auto" ? (stdout.isTTY ? "text" : "json") : log.format;

function ambientOf(io: Io, config: Config): Ambient {
  const { log, board } = config;
  const format = formatOf(io, config);
  const sink = {
    level: log.level,
    format,
    clock: io.clock,
    write: (line: string) => io.stdout.write(`${line}\n`),
  } as const;
  return {
    clock: io.clock,
    random: io.random,
    log: new LineLogger(sink, format === "json" ? { board: board.name } : {}),
  };
}

/** As kubectl looks for them: what is configured, KUBECONFIG, the home folder; inside a pod its service account. */
function credentialsOf(io: Io, { api }: Config, ambient: Ambient): Credentials {
  const file = api.kubeconfig ?? io.env.KUBECONFIG?.split(":").find((part) => part !== "");
  if (file === undefined && io.env.KUBERNETES_SERVICE_HOST !== undefined) {
    return new ServiceAccountCredentials(ambient, { folder: serviceAccountFolder, environment: io.env });
  }
  return new KubeconfigCredentials(ambient, {
    file: file ?? join(io.env.HOME ?? homedir(), ".kube/config"),
    context: api.context,
    environment: io.env,
  });
}

/** Stands for the cluster behind it, where that may not be asked for its name. */
async function addressOf(credentials: Credentials): Promise<string> {
  const { server, tls } = await credentials.access();
  return createHash("sha256")
    .update(`${server.href}\n${tls.ca ?? ""}`)
    .digest("hex");
}
