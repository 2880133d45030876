import { join } from "node:path";
import { StorageError } from "../../storage/errors.ts";
import { removeCache } from "../../storage/open.ts";
import type { Ambient } from "../base/ambient.ts";
import { deadline, elapsed, type Instant, type Millis } from "../base/clock.ts";
import { ConfigError, hintOf, isUnforeseen, sentenceOf } from "../base/errors.ts";
import { exit } from "../base/exit-codes.ts";
import type { Io } from "../base/io.ts";
import type { Level } from "../base/logger.ts";
import { TaskGroup } from "../base/tasks.ts";
import { bootId, processMemory } from "../board/facts.ts";
import { readFact } from "../board/read-fact.ts";
import type { Ending, InForce, PreviousProcess, ProcessControls, Reload } from "../companions/process-controls.ts";
import type { Kept } from "../config/remote-record.ts";
import type { Config } from "../config/settings.ts";
import { MemoryGuard } from "../status/memory-guard.ts";
import type { ServiceManager } from "../status/service-manager.ts";
import type { StatusFile } from "../status/status-file.ts";
import { statusLine } from "../status/status-line.ts";
import { Watchdog } from "../status/watchdog.ts";
import { watchdogLimits } from "../status/watchdog-limits.ts";
import { afterFailure, type Failed } from "./after-failure.ts";
import { AgentRun } from "./agent-run.ts";
import { type Change, ConfigInForce, type ConfigParts } from "./config-in-force.ts";
import { previousProcess } from "./previous-process.ts";
import { formatOf, type ProcessLog } from "./process-log.ts";
import { type ProcessView, processStatus } from "./process-status.ts";
import { recoveryTime } from "./recovery-time.ts";
import { StatePlace } from "./state-place.ts";
import { toldOf } from "./told-of.ts";

export interface LivesParts extends ConfigParts {
  readonly io: Io;
  readonly log: ProcessLog;
  readonly service: ServiceManager;
  /** The service manager's watchdog period; undefined: no watchdog. */
  readonly watchdogPeriod: Millis | undefined;
}

/** Failures that decide the reaction to the next one. */
const mostRemembered = 16;

/**
 * The process, over the lives of the agent in it: normally one; another begins when the configuration changes, or when
 * the agent failed in a way that a restart can fix. The status of the process goes on meanwhile.
 */
export class AgentSupervisor implements ProcessControls {
  readonly #ambient: Ambient;
  readonly #parts: LivesParts;
  readonly startedAt: Instant;
  readonly #end = new AbortController();
  readonly #settled: ConfigInForce;
  readonly #place: StatePlace;
  readonly #watchdog: Watchdog;
  readonly #guard: MemoryGuard;
  /** Ends the present life. */
  #turn = new AbortController();
  /** A life is starting, and may still fail to. */
  #isBeginning = true;
  #life: AgentRun | undefined;
  #status: StatusFile;
  #failure: ProcessView["failure"];
  #isHeld = false;
  #setAside: ProcessView["setAside"];
  #ending: Ending | undefined;
  previous: PreviousProcess | undefined;

  constructor(ambient: Ambient, parts: LivesParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#settled = new ConfigInForce(parts);
    this.#place = new StatePlace(ambient, { isSupervised: parts.io.env.INVOCATION_ID !== undefined });
    this.startedAt = ambient.clock.now();
    this.#status = this.#statusFile();
    this.#watchdog = new Watchdog(ambient, {
      period: parts.watchdogPeriod,
      loops: () => this.#life?.progress(ambient.clock.now()) ?? [],
      limitOf: (name) => watchdogLimits(patienceOf(this.#settled.config))(name),
      alive: () => parts.service.alive(),
      changed: () => this.#status.news(),
    });
    this.#guard = new MemoryGuard(ambient, {
      startedAt: this.startedAt,
      limits: () => this.#settled.config.memory,
      rss: () => processMemory(readFact).rssBytes,
      isCalm: () => this.#life?.leads === false,
      tidy: collect,
      shed: () => this.#life?.shed(),
      restart: (message) => this.restart({ cause: "memory", message }),
    });
  }

  /** Runs until the process is asked to end, or cannot go on. Returns the exit code. */
  async run(): Promise<number> {
    const { io, service } = this.#parts;
    const stop = (): void => {
      this.#ending ??= { cause: "stop" };
      service.stopping();
      this.#end.abort(io.signal.reason);
    };
    io.signal.addEventListener("abort", stop, { once: true });
    if (io.signal.aborted) stop();
    const deaf = io.onHangup(() => void this.reload());
    this.previous = previousProcess(readFact(join(this.#settled.config.run.folder, "status.json")), bootId(readFact));
    const beside = new TaskGroup();
    beside.start("watchdog", (signal) => this.#watchdog.run(signal));
    beside.start("memory guard", (signal) => this.#guard.run(signal));
    try {
      return await this.#live();
    } finally {
      deaf();
      io.signal.removeEventListener("abort", stop);
      beside.stop();
      this.#place.close();
      await beside.join();
    }
  }

  get loaded(): InForce {
    return this.#settled.loaded;
  }

  problemsWith(remote: Kept): readonly string[] {
    return this.#settled.problemsWith(remote);
  }

  setLogLevel(level: Level | undefined, component?: string): void {
    this.#parts.log.turn(level, component);
  }

  restart(ending: Ending): void {
    if (this.#end.signal.aborted) return;
    this.#ending = ending;
    this.#parts.service.stopping();
    this.#end.abort(new Error(ending.message ?? ending.cause));
  }

  reload(): Reload {
    const { log } = this.#ambient;
    if (this.#end.signal.aborted) return { outcome: "refused", problems: ["the agent is stopping"] };
    this.#parts.service.reloading();
    const reload = this.#taken(this.#settled.reload(!this.#isBeginning));
    if (reload.outcome === "refused")
      log.error("the new configuration is refused, and the former one stays", { problems: reload.problems });
    else log.info("the configuration was read again", { outcome: reload.outcome });
    this.#status.news();
    if (!this.#isBeginning) this.#parts.service.ready();
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

  /** Applies what can change at run time; ends the present life if the rest needs a new one. */
  #taken(change: Change): Reload {
    if (change === "refused") return { outcome: "refused", problems: this.#settled.refused };
    if (change !== "nothing") this.#parts.log.configure(this.#settled.config);
    if (change === "other") {
      this.#isBeginning = true;
      this.#turn.abort(new Error("the configuration changed"));
      return { outcome: "begins" };
    }
    // Files named by the configuration may have changed even if the configuration did not.
    void this.reloadCredentials().then((problem) => {
      if (problem !== undefined) this.#ambient.log.warn("the credentials cannot be taken over", { problem });
    });
    return { outcome: change === "nothing" ? "unchanged" : "taken" };
  }

  async #live(): Promise<number> {
    const { log, clock } = this.#ambient;
    const failures: Failed[] = [];
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
      if (failures.length > mostRemembered) failures.shift();
      if (next.do === "end") return this.#ended(error);
      if (next.do === "wait") await this.#without(error, next.pause);
      else if (next.rebuild) {
        rebuilt = error instanceof Error ? error : undefined;
        log.warn("the cache is thrown away and filled again", { error });
        removeCache(join(this.#settled.config.state.folder, "cache.db"));
      } else log.error("what the agent remembers is damaged and is begun anew", { error, hint: hintOf(error) });
    }
    log.info("stopped", { afterMs: Math.round(elapsed(this.startedAt, clock.now())), cause: this.#ending?.cause });
    return exit.ok;
  }

  /** Runs one life. Returns the error that ended it; `undefined`: it was asked to end. */
  async #once(rebuilt: Error | undefined): Promise<ProcessView["failure"]> {
    const { io, service } = this.#parts;
    const { config } = this.#settled;
    this.#turn = new AbortController();
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
    const beside = new TaskGroup(AbortSignal.any([this.#end.signal, this.#turn.signal]));
    if (this.#isHeld) beside.start("look for the state folder", (signal) => this.#regain(config, signal));
    try {
      await this.#life.run(AbortSignal.any([this.#end.signal, this.#turn.signal]));
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

  /** Ends a life on a makeshift once the folder is writable again. */
  async #regain(config: Config, signal: AbortSignal): Promise<void> {
    const { folder } = config.state;
    const found = await this.#place.regained(config, signal);
    if (found === "usable") {
      this.#ambient.log.info("the state folder takes changes again", { folder });
      this.#turn.abort(new Error("the state folder takes changes again"));
    } else if (found === "elsewhere") {
      this.restart({ cause: "storage", message: `${folder} can be written again, only not by this process` });
    }
  }

  /** Returns to the former configuration if no life can begin with the new one. */
  #goBack(error: unknown): boolean {
    if (!(this.#isBeginning || error instanceof ConfigError) || !this.#settled.goBack(error)) return false;
    this.#parts.log.configure(this.#settled.config);
    this.#isBeginning = true;
    const message = "nothing can begin with the new configuration, and the former one is taken again";
    this.#ambient.log.error(message, { error });
    return true;
  }

  /** Goes on without a state folder that cannot be written, if possible. */
  async #without(error: unknown, pause: Millis): Promise<void> {
    if (!this.#place.avoid(this.#settled.config, error, pause)) return await this.#held(error, pause);
    const message =
      "the state folder takes no change: this board tells and answers, and neither leads nor changes anything";
    this.#ambient.log.error(message, { error, hint: hintOf(error), lookAgainMs: pause });
  }

  /** Waits without an agent. The status goes on: it shows the reason, and the remedy for a person. */
  async #held(error: unknown, pause: Millis): Promise<void> {
    const { clock, log } = this.#ambient;
    log.error("the agent cannot go on now, and tries again", { error, hint: hintOf(error), pauseMs: pause });
    const ends = AbortSignal.any([this.#end.signal, this.#turn.signal]);
    const over = deadline(clock, pause, ends, () => new Error("the pause is over"));
    this.#isHeld = true;
    this.#status.write();
    // Waiting for room on the disk is no failed start: another start would find the same.
    this.#parts.service.ready();
    try {
      await this.#status.run(over.signal);
    } finally {
      over.dispose();
      this.#isHeld = false;
    }
  }

  /** Reports one sentence and a hint; the exit code tells systemd whether another start can help. */
  #ended(error: unknown): number {
    if (error instanceof ConfigError) throw error;
    const { io } = this.#parts;
    const { message, hint } = toldOf(error);
    this.#ending = { cause: "failure", message };
    this.#parts.service.status(message);
    // The status file of a folder that another agent holds belongs to that agent.
    if (!(error instanceof StorageError && error.kind === "busy")) this.#status.write();
    const stack = isUnforeseen(error) && error instanceof Error ? error.stack : undefined;
    const isRead = formatOf(io, this.#settled.config) === "text";
    if (!isRead) this.#ambient.log.error("the agent cannot go on", { error, hint, stack });
    else {
      io.stderr.line(`siteward: ${message}`);
      if (hint !== undefined) io.stderr.line(`  ${hint}`);
      if (stack) io.stderr.write(`${stack}\n`);
    }
    return error instanceof StorageError && error.kind === "newer" ? exit.config : exit.failed;
  }

  #statusFile(): StatusFile {
    const { io, service } = this.#parts;
    return processStatus(this.#ambient, {
      io,
      config: this.#settled.config,
      view: () => this.#view(),
      before: this.#status,
      written: (status) => service.status(statusLine(status)),
    });
  }

  #view(): ProcessView {
    return {
      startedAt: this.startedAt,
      loaded: this.#settled.loaded,
      life: this.#life,
      failure: this.#place.avoids(this.#settled.config) ?? this.#failure,
      isHeld: this.#isHeld,
      setAside: this.#setAside,
      refused: this.#settled.refused,
      stuck: this.#watchdog.stuck,
      isWatched: this.#parts.watchdogPeriod !== undefined,
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

/** Does nothing if the program was started without --expose-gc: then V8 alone decides. */
const collect = (): void => {
  globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
};
