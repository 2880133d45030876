import { join } from "node:path";
import { removeCache } from "../../storage/database/open.ts";
import { StorageError } from "../../storage/errors.ts";
import type { Ambient } from "../base/ambient.ts";
import { deadline, elapsed, type Instant, type Millis } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import { ConfigError, hintOf, isUnforeseen, sentenceOf } from "../base/errors.ts";
import { exit } from "../base/exit-codes.ts";
import type { Io } from "../base/io.ts";
import type { LogLevel } from "../base/logger.ts";
import { bootId, processMemory } from "../board/facts.ts";
import { readFact } from "../board/read-fact.ts";
import type { Ending, InForce, PreviousProcess, ProcessControls, Reload } from "../companions/process-controls.ts";
import type { Fault, Kept } from "../config/remote-record.ts";
import type { Config } from "../config/settings.ts";
import { MemoryGuard } from "../status/memory-guard.ts";
import type { ServiceManager } from "../status/service-manager.ts";
import type { StatusFile } from "../status/status-file.ts";
import { statusLine } from "../status/status-line.ts";
import { Watchdog } from "../status/watchdog.ts";
import { watchdogLimits } from "../status/watchdog-limits.ts";
import { afterFailure, type FailedRun } from "./after-failure.ts";
import { AgentRun } from "./agent-run.ts";
import { type ConfigChange, ConfigInForce, type ConfigInForceDeps } from "./config-in-force.ts";
import { previousProcess } from "./previous-process.ts";
import { formatOf, type ProcessLog } from "./process-log.ts";
import { type ProcessView, processStatus } from "./process-status.ts";
import { recoveryTime } from "./recovery-time.ts";
import { StatePlace } from "./state-place.ts";
import { userMessageOf } from "./user-message.ts";

export interface AgentSupervisorDeps extends ConfigInForceDeps {
  readonly io: Io;
  readonly log: ProcessLog;
  readonly service: ServiceManager;
  /** Where a damaged remote.json was moved at the start; undefined if it was sound. */
  readonly remoteSetAside: string | undefined;
  /** The watchdog period of the service manager; undefined without a watchdog. */
  readonly watchdogPeriod: Millis | undefined;
}

/** Number of failures that are remembered to decide the reaction to the next one. */
const maxRemembered = 16;

/**
 * Runs the agent in this process, normally once. Another run (life) begins if the configuration changes, or if the
 * agent fails in a way that a restart can fix. The status is still written between two runs.
 */
export class AgentSupervisor implements ProcessControls {
  readonly #ambient: Ambient;
  readonly #deps: AgentSupervisorDeps;
  readonly startedAt: Instant;
  readonly #end = new AbortController();
  readonly #config: ConfigInForce;
  readonly #place: StatePlace;
  readonly #watchdog: Watchdog;
  readonly #guard: MemoryGuard;
  /** Aborted to end the agent's current run and begin the next one. */
  #nextLife = new AbortController();
  /** True if no agent has started since the process started or the configuration last changed. */
  #isBeginning = true;
  #life: AgentRun | undefined;
  #status: StatusFile;
  #failure: ProcessView["failure"];
  /** See ProcessView. */
  #isHeld = false;
  #setAside: ProcessView["setAside"];
  #ending: Ending | undefined;
  previous: PreviousProcess | undefined;

  constructor(ambient: Ambient, deps: AgentSupervisorDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#config = new ConfigInForce(deps);
    this.#place = new StatePlace(ambient, { isSupervised: deps.io.env.INVOCATION_ID !== undefined });
    this.startedAt = ambient.clock.now();
    this.#status = this.#statusFile();
    this.#watchdog = new Watchdog(ambient, {
      period: deps.watchdogPeriod,
      loops: () => this.#life?.progress(ambient.clock.now()) ?? [],
      limitOf: (name) => watchdogLimits(patienceOf(this.#config.config))(name),
      alive: () => deps.service.alive(),
      changed: () => this.#status.changed(),
    });
    this.#guard = new MemoryGuard(ambient, {
      startedAt: this.startedAt,
      limits: () => this.#config.config.memory,
      rss: () => processMemory(readFact).rssBytes,
      isCalm: () => this.#life?.leads === false,
      tidy: collect,
      shed: () => this.#life?.shed(),
      restart: (message) => this.restart({ cause: "memory", message }),
    });
  }

  /**
   * Runs until the process is asked to end, or until another run of the agent would not help. Returns the exit code.
   */
  async run(): Promise<number> {
    const { io, service } = this.#deps;
    const stop = (): void => {
      this.#ending ??= { cause: "stop" };
      service.stopping();
      this.#end.abort(io.signal.reason);
    };
    io.signal.addEventListener("abort", stop, { once: true });
    if (io.signal.aborted) stop();
    const stopListening = io.onHangup(() => void this.reload());
    this.previous = previousProcess(readFact(join(this.#config.config.run.folder, "status.json")), bootId(readFact));
    const beside = new TaskGroup();
    beside.start("watchdog", (signal) => this.#watchdog.run(signal));
    beside.start("memory guard", (signal) => this.#guard.run(signal));
    try {
      return await this.#live();
    } finally {
      stopListening();
      io.signal.removeEventListener("abort", stop);
      beside.stop();
      this.#place.close();
      await beside.join();
    }
  }

  get loaded(): InForce {
    return this.#config.loaded;
  }

  faultsOf(remote: Kept): readonly Fault[] {
    return this.#config.faultsOf(remote);
  }

  setLogLevel(level: LogLevel | undefined, component?: string): void {
    this.#deps.log.override(level, component);
  }

  restart(ending: Ending): void {
    if (this.#end.signal.aborted) return;
    this.#ending = ending;
    this.#deps.service.stopping();
    this.#end.abort(new Error(ending.message ?? ending.cause));
  }

  reload(): Reload {
    const { log } = this.#ambient;
    if (this.#end.signal.aborted) return { outcome: "refused", problems: ["the agent is stopping"] };
    this.#deps.service.reloading();
    const reload = this.#taken(this.#config.reload(!this.#isBeginning));
    if (reload.outcome === "refused")
      log.error("the new configuration is invalid, and the previous one stays in force", { problems: reload.problems });
    else log.info("the configuration was read again", { outcome: reload.outcome });
    this.#status.changed();
    if (!this.#isBeginning) this.#deps.service.ready();
    return reload;
  }

  async reloadCredentials(): Promise<string | undefined> {
    try {
      await this.#life?.renewConnection();
      return undefined;
    } catch (error) {
      return sentenceOf(error);
    }
  }

  /** Applies changes that can take effect at run time. For all others, ends the current run and begins another one. */
  #taken(change: ConfigChange): Reload {
    if (change === "refused") return { outcome: "refused", problems: this.#config.refused };
    if (change !== "nothing") this.#deps.log.configure(this.#config.config);
    if (change === "other") {
      this.#isBeginning = true;
      this.#nextLife.abort(new Error("the configuration changed"));
      return { outcome: "begins" };
    }
    // The credential files may have changed even if the configuration did not.
    void this.reloadCredentials().then((problem) => {
      if (problem !== undefined) this.#ambient.log.warn("the new credentials cannot be used", { problem });
    });
    return { outcome: change === "nothing" ? "unchanged" : "taken" };
  }

  async #live(): Promise<number> {
    const { log, clock } = this.#ambient;
    const failures: FailedRun[] = [];
    let rebuilt: Error | undefined;
    while (!this.#end.signal.aborted) {
      this.#failure = await this.#once(rebuilt);
      if (this.#failure === undefined) {
        rebuilt = undefined;
        continue;
      }
      const { error } = this.#failure;
      if (this.#goBack(error)) continue;
      const now = clock.now();
      const next = afterFailure(error, failures, now);
      failures.push({ error, at: now });
      if (failures.length > maxRemembered) failures.shift();
      if (next.do === "end") return this.#ended(error);
      if (next.do === "wait") await this.#without(error, next.pause);
      else if (next.rebuild) {
        if (next.pause !== undefined) await this.#held(error, next.pause);
        rebuilt = error instanceof Error ? error : undefined;
        log.warn("the cache is deleted and refilled", { error });
        removeCache(join(this.#config.config.state.folder, "cache.db"));
      } else
        log.error("state.db is damaged, so it is moved aside, and an empty one is created", {
          error,
          hint: hintOf(error),
        });
    }
    log.info("stopped", { afterMs: Math.round(elapsed(this.startedAt, clock.now())), cause: this.#ending?.cause });
    return exit.ok;
  }

  /** Runs the agent once. Returns the error that ended the run; undefined if the agent was asked to end. */
  async #once(rebuilt: Error | undefined): Promise<ProcessView["failure"]> {
    const { io, service } = this.#deps;
    const { config } = this.#config;
    this.#nextLife = new AbortController();
    this.#status = this.#statusFile();
    const needed = recoveryTime(config.state.folder);
    if (needed !== undefined) service.extend(needed);
    this.#life = new AgentRun(this.#ambient, {
      io,
      config,
      controls: this,
      status: this.#status,
      open: () => this.#place.open(config),
      rebuilt,
      opened: ({ setAside }) => {
        this.#setAside = setAside ?? this.#setAside;
      },
      begun: () => {
        this.#isBeginning = false;
        service.ready();
      },
    });
    this.#isHeld = this.#place.avoids(config) !== undefined;
    const beside = new TaskGroup(AbortSignal.any([this.#end.signal, this.#nextLife.signal]));
    if (this.#isHeld) beside.start("wait for the state folder", (signal) => this.#regain(config, signal));
    else beside.start("watch the room", (signal) => this.#discardIfCrowded(config, signal));
    try {
      await this.#life.run(AbortSignal.any([this.#end.signal, this.#nextLife.signal]));
      return undefined;
    } catch (error) {
      return { error };
    } finally {
      this.#life = undefined;
      this.#isHeld = false;
      beside.stop();
      await beside.join();
    }
  }

  /** While the agent's state is in memory: ends this run once the configured folder is writable again. */
  async #regain(config: Config, signal: AbortSignal): Promise<void> {
    const { folder } = config.state;
    const found = await this.#place.regained(config, signal);
    if (found === "usable") {
      this.#ambient.log.info("the state folder is writable again", { folder });
      this.#nextLife.abort(new Error("the state folder is writable again"));
    } else if (found === "elsewhere") {
      this.restart({
        cause: "storage",
        message: `${folder} is writable again, but this process still sees it as read-only`,
      });
    }
  }

  /** Ends this run if the cache fills the disk: the next one deletes the cache when it opens the folder. */
  async #discardIfCrowded(config: Config, signal: AbortSignal): Promise<void> {
    await this.#place.crowded(config, signal);
    if (signal.aborted) return;
    const message = "the cache fills the disk of the state folder, so it is deleted and refilled";
    this.#ambient.log.warn(message, { folder: config.state.folder });
    this.#nextLife.abort(new Error(message));
  }

  /** Goes back to the previous configuration if the agent cannot start with the new one. Returns whether it did. */
  #goBack(error: unknown): boolean {
    if (!(this.#isBeginning || error instanceof ConfigError) || !this.#config.goBack(error)) return false;
    this.#deps.log.configure(this.#config.config);
    this.#isBeginning = true;
    const message = "the agent cannot start with the new configuration, so it returns to the previous one";
    this.#ambient.log.error(message, { error });
    return true;
  }

  /** Continues with the state in memory if the state folder cannot be written; otherwise waits. */
  async #without(error: unknown, pause: Millis): Promise<void> {
    if (!this.#place.avoid(this.#config.config, error, pause)) return await this.#held(error, pause);
    const message =
      "the state folder is not writable, so this board reports and answers, but neither leads nor changes anything";
    this.#ambient.log.error(message, { error, hint: hintOf(error), lookAgainMs: pause });
  }

  /** Waits without an agent. The status is still written, with the reason and a hint. */
  async #held(error: unknown, pause: Millis): Promise<void> {
    const { clock, log } = this.#ambient;
    log.error("the agent cannot run now and will try again", { error, hint: hintOf(error), pauseMs: pause });
    const ends = AbortSignal.any([this.#end.signal, this.#nextLife.signal]);
    const over = deadline(clock, pause, ends, () => new Error("the pause has ended"));
    this.#isHeld = true;
    this.#status.write();
    // Reports success to the service manager, because a new process would meet the same obstacle.
    this.#deps.service.ready();
    try {
      await this.#status.run(over.signal);
    } finally {
      over.dispose();
      this.#isHeld = false;
    }
  }

  /** Reports the error that ends the process. The exit code says whether systemd should start another one. */
  #ended(error: unknown): number {
    if (error instanceof ConfigError) throw error;
    const { io } = this.#deps;
    const { message, hint } = userMessageOf(error);
    this.#ending = { cause: "failure", message };
    this.#deps.service.status(message);
    // If another agent holds the folder, the status file belongs to that agent.
    if (!(error instanceof StorageError && error.kind === "busy")) this.#status.write();
    const stack = isUnforeseen(error) && error instanceof Error ? error.stack : undefined;
    const isRead = formatOf(io, this.#config.config) === "text";
    if (!isRead) this.#ambient.log.error("the agent has failed and is exiting", { error, hint, stack });
    else {
      io.stderr.line(`siteward: ${message}`);
      if (hint !== undefined) io.stderr.line(`  ${hint}`);
      if (stack) io.stderr.write(`${stack}\n`);
    }
    return error instanceof StorageError && error.kind === "newer" ? exit.config : exit.failed;
  }

  #statusFile(): StatusFile {
    const { io, service } = this.#deps;
    return processStatus(this.#ambient, {
      io,
      config: this.#config.config,
      view: () => this.#view(),
      before: this.#status,
      written: (status) => service.status(statusLine(status)),
    });
  }

  #view(): ProcessView {
    return {
      startedAt: this.startedAt,
      loaded: this.#config.loaded,
      life: this.#life,
      failure: this.#place.avoids(this.#config.config) ?? this.#failure,
      isHeld: this.#isHeld,
      setAside: this.#setAside,
      remoteSetAside: this.#deps.remoteSetAside,
      refused: this.#config.refused,
      stuck: this.#watchdog.stuck,
      isWatched: this.#deps.watchdogPeriod !== undefined,
      isTooLarge: this.#guard.isInVain,
      ending: this.#ending,
      previous: this.previous?.ending,
    };
  }
}

const patienceOf = ({ client, leader }: Config): Parameters<typeof watchdogLimits>[0] => ({
  longestRequest: Math.max(...Object.values(client.timeouts)),
  renewDeadline: leader.renewDeadline,
});

/** Collects garbage; does nothing if the program was started without --expose-gc. */
const collect = (): void => {
  globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
};
