import type { Database } from "../../storage/database/database.ts";
import { Memo } from "../../storage/memo.ts";
import { Outbox } from "../../storage/outbox.ts";
import type { Ambient } from "../base/ambient.ts";
import { type Instant, type Millis, sleep } from "../base/clock.ts";
import type { JsonRecord } from "../base/json.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { Effect, SiteControls } from "../commands/desk/controls.ts";
import type { CommandTaker } from "../commands/desk/desk.ts";
import type { SignedMessage } from "../commands/desk/request.ts";
import { readRemote, writeRemote } from "../config/remote-file.ts";
import type { Fault, Kept, Vitals } from "../config/remote-record.ts";
import type { Config } from "../config/settings.ts";
import type { ChangeSummary } from "../decisions/decision-changes.ts";
import type { StatusContribution } from "../status/contribution.ts";
import type { Status } from "../status/schema.ts";
import { type ConfigKeeperDeps, FleetConfigRollout } from "./configuration/fleet-config-rollout.ts";
import { Fleet } from "./fleet.ts";
import { Intake } from "./intake.ts";
import { credentialFiles, readCredentials } from "./mqtt/credentials.ts";
import type { OpenLink } from "./mqtt/link.ts";
import { LinkProblems } from "./mqtt/link-problems.ts";
import type { FleetIdentity } from "./mqtt/topics.ts";
import { ActEvents } from "./reporting/act-events.ts";
import { FleetEvents } from "./reporting/events.ts";
import type { FleetEvent, FleetEventSink } from "./reporting/fleet-events.ts";
import { OutboxPublisher } from "./reporting/outbox-publisher.ts";
import { Reports } from "./reporting/reports.ts";
import { States } from "./reporting/states.ts";
import { StatusEvents } from "./reporting/status-events.ts";
import { SiteCommandGate } from "./site-command-gate.ts";

export interface BoardFleetDeps {
  readonly config: Config;
  readonly identity: FleetIdentity;
  readonly url: URL;
  readonly open: OpenLink;
  readonly database: Database;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly bootId: string;
  /** The version of the fleet's settings if all of them are in force; otherwise undefined. */
  readonly remoteVersion: () => number | undefined;
  /** The faults of the stored settings that are not in force. */
  readonly leftOut: ConfigKeeperDeps["leftOut"];
  readonly reload: ConfigKeeperDeps["reload"];
  /** Validation errors of the fleet's settings on this board. Without errors, they may be applied. */
  readonly judge: (document: Kept) => readonly Fault[];
  /** Why a document is refused for a bad or missing signature; undefined if it is not. */
  readonly unsigned: (message: SignedMessage) => Fault | undefined;
  readonly clockState: () => ClockState;
  readonly status: () => Status | undefined;
  readonly standing: SiteControls["standing"];
  readonly birth: () => JsonRecord;
  /** The outcomes of harmful acts since the last call; undefined if there are none. */
  readonly takeChanges: () => ChangeSummary | undefined;
  readonly statusChanged: () => void;
}

const look: Millis = 2000;
const failurePause: Millis = 30_000;

/** Connects the parts of the fleet link with each other and with the agent. */
export class BoardFleet implements FleetEventSink {
  readonly #ambient: Ambient;
  readonly #deps: BoardFleetDeps;
  readonly #events: FleetEvents;
  readonly #reports: Reports;
  readonly #keeper: FleetConfigRollout;
  readonly #intakeFor: (desk: CommandTaker) => Intake;
  readonly #fleet: Fleet;
  readonly #linkProblems = new LinkProblems();

  constructor(ambient: Ambient, deps: BoardFleetDeps) {
    const { config, identity, url, open, database, env, bootId, clockState, status, standing, statusChanged } = deps;
    const { eventRows, eventBytes, responseRows, responseBytes } = config.mqtt.outbox;
    this.#ambient = ambient;
    this.#deps = deps;
    const outbox = new Outbox(database, {
      event: { rows: eventRows, bytes: eventBytes },
      response: { rows: responseRows, bytes: responseBytes },
    });
    const states = new States();
    const gate = new SiteCommandGate();
    const added = (): void => publisher.ring();
    const events = new FleetEvents(ambient, { identity, outbox, bootId, clockState, added });
    const { reportDropped } = events;
    const linkProblems = this.#linkProblems;
    const publisher = new OutboxPublisher(ambient, {
      identity,
      outbox,
      states,
      bootId,
      events,
      linkProblems,
      reportDropped,
    });
    this.#events = events;
    this.#keeper = new FleetConfigRollout(ambient, {
      read: () => readRemote(config.state.folder),
      write: (record) => writeRemote(config.state.folder, record),
      judge: deps.judge,
      versionInForce: deps.remoteVersion,
      leftOut: deps.leftOut,
      reload: deps.reload,
      vitals: () => this.#vitals(),
      canary: config.remote.canary,
      events,
    });
    this.#reports = new Reports({
      identity,
      config,
      memo: new Memo(database),
      states,
      clockState,
      status,
      standing,
      birth: deps.birth,
      reported: () => this.#keeper.reported(),
    });
    const desired = (message: SignedMessage): void => {
      if (config.remote.enabled) this.#keeper.take({ payload: message.payload, refusal: deps.unsigned(message) });
    };
    this.#intakeFor = (desk) =>
      new Intake(ambient, { identity, desk, outbox, states, bootId, standing, gate, desired, added });
    const files = credentialFiles(config, env);
    this.#fleet = new Fleet(ambient, {
      config,
      identity,
      url,
      open,
      credentials: () => readCredentials(files, identity),
      outbox,
      states,
      publisher,
      reports: this.#reports,
      events,
      bootId,
      clockState,
      standing,
      gate,
      linkProblems,
      statusChanged,
    });
  }

  /**
   * Runs until the signal aborts, and hands commands to the desk. Failures are logged and retried; they never end the
   * agent.
   */
  async run(signal: AbortSignal, desk: CommandTaker): Promise<void> {
    const intake = this.#intakeFor(desk);
    await Promise.all([
      this.#lasting("link", signal, () => this.#fleet.run(signal, intake)),
      this.#lasting("settings", signal, () => this.#keeper.run(signal)),
      this.#lasting("events", signal, () => this.#watch(signal)),
    ]);
    await intake.settled();
  }

  note(event: FleetEvent): void {
    this.#events.note(event);
  }

  contribution(now: Instant): StatusContribution {
    const mqtt = this.#fleet.part(now);
    return { mqtt, config: this.#keeper.part(), problems: [...this.#keeper.problems(), ...this.#linkProblems.list()] };
  }

  /** Publishes the birth message again. */
  announce(): JsonRecord {
    return this.#reports.announce();
  }

  /** The version of the fleet's settings that is in force; undefined if there is none. */
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

  /** Stores changes of the status and harmful acts as events, regardless of whether the broker can be reached. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const events = new StatusEvents();
    const acts = new ActEvents(this.#deps.takeChanges);
    let seen: Status | undefined;
    while (!signal.aborted) {
      const status = this.#deps.status();
      if (status && status !== seen) for (const event of events.changes(status, clock.now())) this.note(event);
      seen = status;
      const decided = acts.due(clock.now());
      if (decided) this.note(decided);
      this.#events.retry();
      await sleep(clock, look, signal);
    }
    const rest = acts.rest();
    if (rest) this.note(rest);
  }

  async #lasting(part: string, signal: AbortSignal, run: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await run();
        return;
      } catch (error) {
        this.#ambient.log.error("a task of the fleet link failed", { part, error });
        await sleep(this.#ambient.clock, failurePause, signal);
      }
    }
  }

  #vitals(): Vitals {
    const { leader, link } = this.#deps.status() ?? {};
    const isRenewed = leader?.leaseAgeMs !== undefined && leader.leaseAgeMs <= leader.leaseDurationMs;
    return { lease: isRenewed, api: link?.api.state === "up", mqtt: this.#fleet.isUp };
  }
}
