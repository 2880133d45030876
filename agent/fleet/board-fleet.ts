import type { Database } from "../../storage/database.ts";
import { Memo } from "../../storage/memo.ts";
import { Outbox } from "../../storage/outbox.ts";
import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import type { JsonRecord } from "../base/json.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { Effect, SiteControls } from "../commands/desk/controls.ts";
import type { CommandTaker } from "../commands/desk/desk.ts";
import { readRemote, writeRemote } from "../config/remote-file.ts";
import type { Fault, Kept, Vitals } from "../config/remote-record.ts";
import type { Config } from "../config/settings.ts";
import type { Status } from "../status/schema.ts";
import type { Told } from "../status/told.ts";
import { ConfigKeeper, type KeeperParts } from "./config-keeper.ts";
import { credentialFiles, readCredentials } from "./credentials.ts";
import { FleetEvents } from "./events.ts";
import { Fleet } from "./fleet.ts";
import type { FleetEvent, FleetEventSink } from "./fleet-events.ts";
import { Intake } from "./intake.ts";
import type { OpenLink } from "./link.ts";
import { LinkProblems } from "./link-problems.ts";
import { OutboxPublisher } from "./outbox-publisher.ts";
import { Reports } from "./reports.ts";
import { SiteCommandGate } from "./site-command-gate.ts";
import { States } from "./states.ts";
import { StatusEvents } from "./status-events.ts";
import type { Identity } from "./topics.ts";

export interface BoardFleetParts {
  readonly config: Config;
  readonly identity: Identity;
  readonly url: URL;
  readonly open: OpenLink;
  readonly database: Database;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly bootId: string;
  /** Version of the fleet settings in force. */
  readonly remoteVersion: () => number | undefined;
  readonly reload: KeeperParts["reload"];
  /** Validation errors of the fleet's settings on this board; none: they may be applied. */
  readonly judge: (document: Kept) => readonly Fault[];
  readonly clockState: () => ClockState;
  readonly status: () => Status | undefined;
  readonly standing: SiteControls["standing"];
  readonly birth: () => JsonRecord;
  /** Set before the first message arrives. */
  readonly desk: () => CommandTaker;
  readonly news: () => void;
}

const look: Millis = 2000;
const failurePause: Millis = 30_000;

/** Wires up everything that connects this board to its fleet. */
export class BoardFleet implements FleetEventSink {
  readonly name = "fleet";
  readonly #ambient: Ambient;
  readonly #parts: BoardFleetParts;
  readonly #events: FleetEvents;
  readonly #reports: Reports;
  readonly #keeper: ConfigKeeper;
  readonly #intake: Intake;
  readonly #fleet: Fleet;
  readonly #troubles = new LinkProblems();

  constructor(ambient: Ambient, parts: BoardFleetParts) {
    const { config, identity, url, open, database, env, bootId, clockState, status, standing, news } = parts;
    const { eventRows, eventBytes, responseRows, responseBytes } = config.mqtt.outbox;
    this.#ambient = ambient;
    this.#parts = parts;
    const outbox = new Outbox(database, {
      event: { rows: eventRows, bytes: eventBytes },
      response: { rows: responseRows, bytes: responseBytes },
    });
    const states = new States();
    const ear = new SiteCommandGate();
    const added = (): void => drain.ring();
    const happenings = new FleetEvents(ambient, { identity, outbox, bootId, clockState, added });
    const { tellDropped } = happenings;
    const troubles = this.#troubles;
    const drain = new OutboxPublisher(ambient, { outbox, states, bootId, happenings, troubles, tellDropped });
    this.#events = happenings;
    this.#keeper = new ConfigKeeper(ambient, {
      read: () => readRemote(config.state.folder),
      write: (record) => writeRemote(config.state.folder, record),
      judge: parts.judge,
      versionInForce: parts.remoteVersion,
      reload: parts.reload,
      vitals: () => this.#vitals(),
      canary: config.remote.canary,
      happenings,
    });
    this.#reports = new Reports({
      identity,
      config,
      memo: new Memo(database),
      states,
      clockState,
      status,
      standing,
      birth: parts.birth,
      reported: () => this.#keeper.reported(),
    });
    this.#intake = new Intake(ambient, {
      identity,
      desk: parts.desk,
      outbox,
      states,
      bootId,
      standing,
      ear,
      desired: (payload) => {
        if (config.remote.enabled) this.#keeper.take(payload);
      },
      added,
    });
    const files = credentialFiles(config, env);
    this.#fleet = new Fleet(ambient, {
      config,
      identity,
      url,
      open,
      credentials: () => readCredentials(files, identity),
      outbox,
      states,
      drain,
      intake: this.#intake,
      reports: this.#reports,
      happenings,
      bootId,
      clockState,
      standing,
      ear,
      troubles,
      news,
    });
  }

  /** Runs until the signal aborts. Failures are logged and retried: the fleet link never ends the agent. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#lasting("link", signal, () => this.#fleet.run(signal)),
      this.#lasting("settings", signal, () => this.#keeper.run(signal)),
      this.#lasting("events", signal, () => this.#watch(signal)),
    ]);
    await this.#intake.settled();
  }

  note(event: FleetEvent): void {
    this.#events.note(event);
  }

  told(now: Instant): Told {
    const mqtt = this.#fleet.part(now);
    return { mqtt, config: this.#keeper.part(), problems: [...this.#keeper.problems(), ...this.#troubles.list()] };
  }

  /** Publishes the birth message again. */
  announce(): JsonRecord {
    return this.#reports.announce();
  }

  /** The version of the fleet's settings in force. */
  configVersion(): number | undefined {
    return this.#keeper.versionInForce;
  }

  applyConfig(version: number, canary: Millis | undefined, dryRun: boolean): Promise<Effect> {
    return this.#keeper.apply(version, canary, dryRun);
  }

  rollbackConfig(toVersion: number | undefined, dryRun: boolean): Promise<Effect> {
    return this.#keeper.rollback(toVersion, dryRun);
  }

  reloadCredentials(dryRun: boolean): Promise<Effect> {
    return this.#fleet.reloadCredentials(dryRun, new AbortController().signal);
  }

  /** Records changes of the status as events, whether or not the broker is reachable. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const events = new StatusEvents();
    let seen: Status | undefined;
    while (!signal.aborted) {
      const status = this.#parts.status();
      if (status && status !== seen) for (const event of events.look(status, clock.now())) this.note(event);
      seen = status;
      this.#events.retry();
      await sleep(clock, look, signal);
    }
  }

  async #lasting(part: string, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await run();
        return;
      } catch (error) {
        this.#ambient.log.error("a part of the fleet's link failed", { part, error });
        await sleep(this.#ambient.clock, failurePause, signal);
      }
    }
  }

  #vitals(): Vitals {
    const { leader, link } = this.#parts.status() ?? {};
    const isRenewed = leader?.leaseAgeMs !== undefined && leader.leaseAgeMs <= leader.leaseDurationMs;
    return { lease: isRenewed, api: link?.api.state === "up", mqtt: this.#fleet.isUp };
  }
}
