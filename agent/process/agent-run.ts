import type { OpenedState } from "../../storage/database/open.ts";
import type { StateFolder } from "../../storage/state-folder.ts";
import { Agent } from "../assembly/agent.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import type { Io } from "../base/io.ts";
import type { Progress } from "../base/progress.ts";
import { bootId, hardware } from "../board/facts.ts";
import { everyoneOn, gatewayOn, lanPaths } from "../board/lan-paths.ts";
import { localAddresses } from "../board/local-addresses.ts";
import { readFact } from "../board/read-fact.ts";
import { readLines } from "../board/read-lines.ts";
import type { Credentials } from "../client/credentials/credentials.ts";
import type { HttpTransport } from "../client/transport/http-transport.ts";
import type { Companion } from "../companions/companion.ts";
import { companions } from "../companions/companions.ts";
import type { ProcessControls } from "../companions/process-controls.ts";
import { whyNotToLeadWithout } from "../config/remote-fit.ts";
import type { Config } from "../config/settings.ts";
import type { StatusContribution } from "../status/contribution.ts";
import type { AgentParts } from "../status/parts.ts";
import type { Status } from "../status/schema.ts";
import type { StatusFile } from "../status/status-file.ts";
import { gatewayByTcp } from "../witness/gateway.ts";
import { healthz } from "../witness/healthz.ts";
import { ofRoot } from "../witness/root-listener.ts";
import { keyFileIn, kubeletFileIn } from "../witness/state-files.ts";
import { udp } from "../witness/udp.ts";
import { addressOf, credentialsOf, transportOf } from "./api-access.ts";
import { loadControllers } from "./load-controllers.ts";
import { version } from "./version.ts";

export interface AgentRunDeps {
  readonly io: Io;
  readonly config: Config;
  readonly controls: ProcessControls;
  readonly status: StatusFile;
  /** Opens the state folder or, in its place, a temporary folder in memory (a makeshift). */
  readonly open: () => StateFolder;
  /** Why the cache was deleted before this run; undefined if it was not. */
  readonly rebuilt: Error | undefined;
  /** Called when the configured folder, not a makeshift, was opened. */
  readonly opened: (state: OpenedState) => void;
  /** Called when all parts exist and the status shows them. The links may still be down. */
  readonly begun: () => void;
}

/** One run of the agent and its companions (a life), from opening the state folder to closing it. */
export class AgentRun {
  readonly #ambient: Ambient;
  readonly #deps: AgentRunDeps;
  readonly #credentials: Credentials;
  readonly #transport: HttpTransport;
  #folder: StateFolder | undefined;
  #agent: Agent | undefined;
  #beside: readonly Companion[] = [];
  /** When state.db last accepted a write, or was opened; undefined before that. */
  #probed: Instant | undefined;

  constructor(ambient: Ambient, deps: AgentRunDeps) {
    const { io, config } = deps;
    this.#ambient = ambient;
    this.#deps = deps;
    this.#credentials = credentialsOf(io, config, ambient);
    this.#transport = transportOf(io, config, ambient, this.#credentials);
  }

  /** Runs until the signal aborts, then writes everything to disk. Rejects with the error that ended it. */
  async run(signal: AbortSignal): Promise<void> {
    const { open, status } = this.#deps;
    try {
      const folder = open();
      this.#folder = folder;
      if (folder.standsIn === undefined) this.#reportOpened(folder);
      await this.#live(folder, signal);
      status.write();
      folder.close();
    } catch (error) {
      this.#folder?.closeWithoutCheckpoint();
      throw causeOf(error);
    } finally {
      this.#agent = undefined;
      this.#beside = [];
      this.#transport.close();
    }
  }

  /** The agent's parts of the status; undefined if the agent has not begun, or has ended. */
  parts(now: Instant): AgentParts | undefined {
    return this.#agent?.parts(now);
  }

  /** How state.db was lost after it was opened; undefined if it was not lost, or none is open. */
  get stateLoss(): ReturnType<StateFolder["loss"]> {
    return this.#agent && this.#folder?.loss();
  }

  contributions(now: Instant): readonly StatusContribution[] {
    return this.#beside.flatMap((companion) => companion.contribution?.(now) ?? []);
  }

  written(status: Status): void {
    for (const companion of this.#beside) companion.written?.(status);
  }

  /**
   * The progress of the agent's loops and of state.db, which is probed here and counts as progressing if it accepts a
   * write.
   */
  progress(now: Instant): readonly Progress[] {
    if (!this.#agent) return [];
    try {
      this.#folder?.state.database.checkWritable();
      this.#probed = now;
    } catch (error) {
      this.#ambient.log.debug("state.db does not accept writes", { error });
    }
    return [...this.#agent.progress(now), { name: "database", at: this.#probed ?? "idle" }];
  }

  /** Whether this board leads; undefined while there is no agent. */
  get leads(): boolean | undefined {
    return this.#agent && this.#agent.elector.view().role === "leader";
  }

  /** Frees memory whose content can be read or computed again. */
  shed(): void {
    this.#agent?.shed();
  }

  /**
   * Reads the credentials again for the next request. Rejects, without changing anything, if the credentials are
   * invalid.
   */
  async renewConnection(): Promise<void> {
    await this.#checkCredentials();
    this.#transport.renew();
  }

  async #checkCredentials(): Promise<void> {
    await this.#credentials.access();
  }

  async #live(folder: StateFolder, signal: AbortSignal): Promise<void> {
    const { io, status, controls, rebuilt, begun } = this.#deps;
    const config = folder.standsIn === undefined ? this.#deps.config : reduced(this.#deps.config);
    const boot = bootId(readFact);
    const agent = new Agent(this.#ambient, {
      config,
      folder,
      transport: this.#transport.send,
      renewConnection: () => this.#transport.renew(),
      address: () => addressOf(this.#credentials),
      controllers: loadControllers,
      bootId: boot,
      place: `${hardware(readFact) ?? boot} ${folder.inode}`,
      version,
      witness: {
        lan: udp,
        keyFile: keyFileIn(config.state.folder),
        kubeletFile: kubeletFileIn(config.state.folder),
        askGateway: gatewayByTcp(this.#ambient.clock, (path) => gatewayOn(readFact, path)),
        paths: () => lanPaths(readFact),
        everyoneOn: (path) => everyoneOn(readFact, path),
        askKubelet: ofRoot(healthz(this.#ambient.clock), this.#ambient.clock, readLines),
        addresses: () => localAddresses(readFact),
      },
      rebuilt,
      barred: () => whyNotToLeadWithout(controls.loaded.leftOut),
      statusChanged: () => status.changed(),
    });
    this.#agent = agent;
    const surroundings = {
      ambient: this.#ambient,
      config,
      agent,
      folder,
      io,
      controls,
      checkCredentials: () => this.#checkCredentials(),
      bootId: boot,
      version,
    };
    this.#beside = await companions({
      ...surroundings,
      status: () => status.last,
      statusChanged: () => status.changed(),
    });
    this.#probed = this.#ambient.clock.now();
    status.write();
    begun();
    const tasks = new TaskGroup(signal);
    tasks.start("agent", (inner) => agent.run(inner));
    tasks.start("status", (inner) => status.run(inner));
    for (const companion of this.#beside) tasks.start(companion.name, (inner) => companion.run(inner));
    await tasks.join();
  }

  #reportOpened({ state, cache }: StateFolder): void {
    const { log } = this.#ambient;
    const { setAside } = state;
    if (setAside) {
      const { file, why } = setAside;
      log.error("state.db was damaged and was moved aside", { file, error: why });
    }
    if (cache.rebuilt) log.warn("the cache cannot be used and is refilled", { error: cache.rebuilt });
    this.#deps.opened(state);
  }
}

/**
 * The configuration of a run on a makeshift, which is small and in memory, so no objects are cached. Events are not
 * stored but counted as dropped, because a power cut would lose their sequence numbers, which would then be used twice;
 * the count is reported to the fleet later.
 */
const reduced = (config: Config): Config => {
  const { mqtt } = config;
  return { ...config, standby: "cold", mqtt: { ...mqtt, outbox: { ...mqtt.outbox, eventRows: 0 } } };
};

/** The original error inside the errors of task groups, which only name the failed task. */
function causeOf(error: unknown): unknown {
  let at = error;
  while (at instanceof Error && !("disposition" in at) && at.cause !== undefined) at = at.cause;
  return at;
}
