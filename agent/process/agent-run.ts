import type { OpenedState } from "../../storage/open.ts";
import type { StateFolder } from "../../storage/state-folder.ts";
import { Agent } from "../assemble.ts";
import type { Ambient } from "../base/ambient.ts";
import type { Instant } from "../base/clock.ts";
import type { Io } from "../base/io.ts";
import type { Progress } from "../base/progress.ts";
import { TaskGroup } from "../base/tasks.ts";
import { bootId, hardware } from "../board/facts.ts";
import { readFact } from "../board/read-fact.ts";
import type { Credentials } from "../client/credentials.ts";
import type { HttpTransport } from "../client/http-transport.ts";
import { type Companion, companions } from "../companions/companions.ts";
import type { ProcessControls } from "../companions/process-controls.ts";
import type { Config } from "../config/settings.ts";
import type { Status } from "../status/schema.ts";
import type { StatusFile } from "../status/status-file.ts";
import type { Told } from "../status/told.ts";
import type { AgentViews } from "../views.ts";
import { addressOf, credentialsOf, transportOf } from "./api-access.ts";
import { loadControllers } from "./load-controllers.ts";
import { version } from "./version.ts";

export interface LifeParts {
  readonly io: Io;
  readonly config: Config;
  readonly controls: ProcessControls;
  readonly status: StatusFile;
  /** Opens the state folder, or a makeshift in its place. */
  readonly open: () => StateFolder;
  /** Why the cache was thrown away before this life; undefined: it was not. */
  readonly rebuilt: Error | undefined;
  readonly opened: (state: OpenedState) => void;
  /** Called when every part exists and the status shows it. Says nothing about any link. */
  readonly begun: () => void;
}

/** One life of the assembled agent and its companions: from the opened state folder to the closed one. */
export class AgentRun {
  readonly #ambient: Ambient;
  readonly #parts: LifeParts;
  readonly #credentials: Credentials;
  readonly #transport: HttpTransport;
  #folder: StateFolder | undefined;
  #agent: Agent | undefined;
  #beside: readonly Companion[] = [];
  /** When the state database last accepted a write, or had just been opened. */
  #probed: Instant | undefined;

  constructor(ambient: Ambient, parts: LifeParts) {
    const { io, config } = parts;
    this.#ambient = ambient;
    this.#parts = parts;
    this.#credentials = credentialsOf(io, config, ambient);
    this.#transport = transportOf(io, config, ambient, this.#credentials);
  }

  /**
   * Runs until the signal aborts, then closes everything and writes it to disk. Rejects with the error that ended it.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { open, status } = this.#parts;
    try {
      const folder = open();
      this.#folder = folder;
      if (folder.standsIn === undefined) this.#tellOpened(folder);
      await this.#live(folder, signal);
      status.write();
      folder.close();
    } catch (error) {
      this.#folder?.abandon();
      throw causeOf(error);
    } finally {
      this.#agent = undefined;
      this.#beside = [];
      this.#transport.close();
    }
  }

  /** Undefined: the agent has not begun, or has ended. */
  views(now: Instant): AgentViews | undefined {
    return this.#agent?.views(now);
  }

  told(now: Instant): readonly Told[] {
    return this.#beside.flatMap((companion) => companion.told?.(now) ?? []);
  }

  written(status: Status): void {
    for (const companion of this.#beside) companion.written?.(status);
  }

  /** The progress of its loops; also probes whether the database accepts a write. */
  progress(now: Instant): readonly Progress[] {
    if (!this.#agent) return [];
    try {
      this.#folder?.state.database.probe();
      this.#probed = now;
    } catch (error) {
      this.#ambient.log.debug("no change can be committed", { error });
    }
    return [...this.#agent.progress(now), { name: "database", at: this.#probed ?? "idle" }];
  }

  /** Undefined while there is no agent. */
  get leads(): boolean | undefined {
    return this.#agent && this.#agent.elector.view().role === "leader";
  }

  /** Frees memory whose content can be read or computed again. */
  shed(): void {
    this.#agent?.shed();
  }

  /** Reads the credentials again for the next request. Rejects on invalid credentials, and then changes nothing. */
  async renewConnection(): Promise<void> {
    await this.#credentials.access();
    this.#transport.renew();
  }

  async #live(folder: StateFolder, signal: AbortSignal): Promise<void> {
    const { io, status, controls, rebuilt, begun } = this.#parts;
    const config = folder.standsIn === undefined ? this.#parts.config : reduced(this.#parts.config);
    const boot = bootId(readFact);
    const agent = new Agent(this.#ambient, {
      config,
      folder,
      transport: this.#transport.send,
      address: () => addressOf(this.#credentials),
      controllers: loadControllers,
      bootId: boot,
      place: `${hardware(readFact) ?? boot} ${folder.copy}`,
      version,
      rebuilt,
      news: () => status.news(),
    });
    this.#agent = agent;
    const surroundings = {
      ambient: this.#ambient,
      config,
      agent,
      folder,
      io,
      controls,
      bootId: boot,
      version,
    };
    this.#beside = await companions({ ...surroundings, status: () => status.last, news: () => status.news() });
    this.#probed = this.#ambient.clock.now();
    status.write();
    begun();
    const tasks = new TaskGroup(signal);
    tasks.start("agent", (inner) => agent.run(inner));
    tasks.start("status", (inner) => status.run(inner));
    for (const companion of this.#beside) tasks.start(companion.name, (inner) => companion.run(inner));
    await tasks.join();
  }

  #tellOpened({ state, cache }: StateFolder): void {
    const { log } = this.#ambient;
    const { setAside } = state;
    if (setAside) {
      const { file, why } = setAside;
      log.error("what the agent remembered was damaged and is kept aside", { file, error: why });
    }
    if (cache.rebuilt) log.warn("the cache cannot be used and is filled again", { error: cache.rebuilt });
    this.#parts.opened(state);
  }
}

/**
 * The configuration for a makeshift, which is in memory and small: nothing is mirrored there. Events are counted and
 * not kept, as if there were no room: numbers lost with the power would be issued twice. Their count is sent to the
 * fleet once there is room.
 */
const reduced = (config: Config): Config => {
  const { mqtt } = config;
  return { ...config, standby: "cold", mqtt: { ...mqtt, outbox: { ...mqtt.outbox, eventRows: 0 } } };
};

/** The error behind those of the task groups, which only name the task that failed. */
function causeOf(error: unknown): unknown {
  let at = error;
  while (at instanceof Error && !("disposition" in at) && at.cause !== undefined) at = at.cause;
  return at;
}
