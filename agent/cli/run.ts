import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { StorageError } from "../../storage/errors.ts";
import { removeCache } from "../../storage/open.ts";
import { Agent } from "../assemble.ts";
import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant } from "../base/clock.ts";
import { ConfigError, dispositionOf, hintOf, isUnforeseen, sentenceOf } from "../base/errors.ts";
import { LineLogger } from "../base/logger.ts";
import { TaskGroup } from "../base/tasks.ts";
import { bootClock, bootId, model, processMemory, ramBytes } from "../board/facts.ts";
import { readFact } from "../board/read-fact.ts";
import type { Credentials } from "../client/credentials.ts";
import { HttpTransport } from "../client/http-transport.ts";
import { defaultHealth } from "../client/http2-wire.ts";
import { KubeconfigCredentials } from "../client/kubeconfig-credentials.ts";
import { ServiceAccountCredentials, serviceAccountFolder } from "../client/service-account-credentials.ts";
import type { Config } from "../config/settings.ts";
import { replaceFile } from "../status/replace-file.ts";
import { snapshot } from "../status/snapshot.ts";
import { StatusFile } from "../status/status-file.ts";
import { exit } from "./exit-codes.ts";
import type { Io, Run } from "./io.ts";
import { configOf } from "./load-config.ts";
import { statusParts } from "./status-parts.ts";
import { version } from "./version.ts";

/** More rebuilds than this within one run is a disk that eats what is written to it. */
const mostRebuilds = 3;

/** `siteward run`: the agent of this board, until it is told to stop. */
export const run: Run = async (io, args) => {
  const loaded = configOf(io, args.values.get("config"));
  const { config } = loaded;
  const ambient = ambientOf(io, config);
  const startedAt = ambient.clock.now();
  for (const warning of loaded.warnings) ambient.log.warn("configuration", { warning });
  mkdirSync(config.state.folder, { recursive: true });
  mkdirSync(config.run.folder, { recursive: true });
  const transport = new HttpTransport(ambient, {
    credentials: credentialsOf(io, config, ambient),
    proxies: {
      proxy: config.api.proxy ?? io.env.HTTPS_PROXY ?? io.env.https_proxy,
      except: io.env.NO_PROXY ?? io.env.no_proxy,
    },
    health: defaultHealth,
    timeout: config.client.timeouts.write,
  });
  try {
    for (let rebuilds = 0; ; rebuilds++) {
      const failure = await once(io, { loaded, ambient, transport, startedAt });
      if (failure === undefined) return exit.ok;
      if (dispositionOf(failure.error) !== "rebuild" || rebuilds === mostRebuilds)
        return ended(io, ambient, failure.error);
      ambient.log.warn("the cache is thrown away and filled again", { error: failure.error });
      removeCache(join(config.state.folder, "cache.db"));
    }
  } finally {
    transport.close();
  }
};

interface Surroundings {
  readonly loaded: ReturnType<typeof configOf>;
  readonly ambient: Ambient;
  readonly transport: HttpTransport;
  readonly startedAt: Instant;
}

/** One life of the assembled agent. Answers what it ended with, `undefined` where it was told to end. */
async function once(
  io: Io,
  { loaded, ambient, transport, startedAt }: Surroundings,
): Promise<{ readonly error: unknown } | undefined> {
  const { config } = loaded;
  let agent: Agent | undefined;
  try {
    agent = new Agent(ambient, { config, transport: transport.send, bootId: bootId(readFact), version });
    const status = statusFile(io, { loaded, ambient, transport, startedAt }, agent);
    const tasks = new TaskGroup(io.signal);
    const open = agent;
    tasks.start("agent", (signal) => open.run(signal));
    tasks.start("status", (signal) => status.run(signal));
    await tasks.join();
    status.write();
    agent.close();
    ambient.log.info("stopped", { afterMs: Math.round(elapsed(startedAt, ambient.clock.now())) });
    return undefined;
  } catch (error) {
    agent?.abandon();
    return { error: causeOf(error) };
  }
}

/** A task group names the task that failed; what it failed with decides what happens next. */
function causeOf(error: unknown): unknown {
  let at = error;
  while (isUnforeseen(at) && at instanceof Error && at.cause !== undefined) at = at.cause;
  return at;
}

function statusFile(io: Io, { loaded, ambient, startedAt }: Surroundings, agent: Agent): StatusFile {
  const { config, profile } = loaded;
  return new StatusFile(ambient, {
    file: join(config.run.folder, "status.json"),
    limits: config.status,
    replace: replaceFile,
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
        config: { files: loaded.files, warnings: loaded.warnings },
        ...statusParts(agent.views(now), now),
      };
      return snapshot(parts, before);
    },
  });
}

/** One sentence and what to do about it; the exit code tells systemd whether another start can help. */
function ended(io: Io, { log }: Ambient, error: unknown): number {
  if (error instanceof ConfigError) throw error;
  log.error("the agent cannot go on", {
    error,
    hint: hintOf(error),
    stack: dispositionOf(error) === "retry" && error instanceof Error ? error.stack : undefined,
  });
  const hint = hintOf(error);
  io.stderr.write(`siteward: ${sentenceOf(error)}${hint === undefined ? "" : `\n  ${hint}`}\n`);
  return error instanceof StorageError && error.kind === "newer" ? exit.config : exit.failed;
}

function ambientOf(io: Io, { log, board }: Config): Ambient {
  const format = log.format === "auto" ? (io.stdout.isTTY ? "text" : "json") : log.format;
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
