import { copyFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import type { Ambient } from "../../../agent/base/ambient.ts";
import { SystemClock } from "../../../agent/base/clock.ts";
import type { JsonRecord } from "../../../agent/base/json.ts";
import { SystemRandom } from "../../../agent/base/random.ts";
import type { BoardControls } from "../../../agent/commands/desk/board-controls.ts";
import type { Effect, SiteControls, Standing } from "../../../agent/commands/desk/controls.ts";
import { commands } from "../../../agent/commands/desk/definitions/registry.ts";
import { CommandDesk } from "../../../agent/commands/desk/desk.ts";
import { Ledger } from "../../../agent/commands/desk/ledger.ts";
import { LogLevels } from "../../../agent/commands/desk/log-levels.ts";
import { openPolicy } from "../../../agent/commands/desk/policy.ts";
import { noTrust } from "../../../agent/commands/desk/trust.ts";
import { judgeRemote } from "../../../agent/config/remote-judge.ts";
import { type Config, settings } from "../../../agent/config/settings.ts";
import { defaultsOf, mergeTree, treeOf } from "../../../agent/config/values.ts";
import { BoardFleet } from "../../../agent/fleet/board-fleet.ts";
import { mqttLinks } from "../../../agent/fleet/mqtt/mqtt-link.ts";
import type { FleetIdentity } from "../../../agent/fleet/mqtt/topics.ts";
import type { Status } from "../../../agent/status/schema.ts";
import { CommandLog } from "../../../storage/command-log.ts";
import { Database } from "../../../storage/database/database.ts";
import { Memo } from "../../../storage/memo.ts";
import { Outbox } from "../../../storage/outbox.ts";
import { stateMigrations } from "../../../storage/schema.ts";
import { RecordingLog } from "../recording-log.ts";
import { statePragmas } from "../state-pragmas.ts";
import type { Certificate, Mosquitto } from "./mosquitto.ts";

/** Settings with these sections over the defaults. */
function configWith(tree: JsonRecord): Config {
  const values = defaultsOf(settings);
  const problems = mergeTree(values, settings, tree, { where: (at) => at.join(".") });
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return treeOf(settings, values);
}

export interface FleetBoardOptions {
  readonly broker: Mosquitto;
  readonly folder: string;
  readonly board?: string;
  readonly site?: string;
  /** Settings of the section `mqtt`. */
  readonly mqtt?: JsonRecord;
  /** The effect of every site command. */
  readonly effect?: (what: string) => Promise<void>;
}

/** A board's link to its fleet with the real desk, over a stub site that records the effects of commands. */
export class FleetBoard {
  readonly log = new RecordingLog();
  readonly identity: FleetIdentity;
  readonly config: Config;
  readonly files: Certificate;
  /** The effects of commands, each with its command's zone. */
  readonly effects: string[] = [];
  standing: Standing = { isLeader: false, leader: undefined, term: undefined };
  status: Status | undefined;
  bootId = "boot-1";
  remoteVersion: number | undefined;
  reloads = 0;
  fleet: BoardFleet | undefined;
  readonly #options: FleetBoardOptions;
  readonly #file: string;
  #database: Database | undefined;
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: FleetBoardOptions) {
    const { broker, folder, board = "pi-1", site = "plant7", mqtt = {} } = options;
    this.#options = options;
    this.identity = { fleet: "acme", site, board };
    const home = path.join(folder, `${site}-${board}`);
    mkdirSync(home, { recursive: true });
    this.#file = path.join(home, "state.db");
    this.files = { certificate: path.join(home, "mqtt.crt"), key: path.join(home, "mqtt.key") };
    this.use(broker.authority.issue(`acme/${site}/${board}`));
    this.config = configWith({
      site: { name: site },
      board: { name: board },
      state: { folder: home },
      mqtt: {
        url: broker.url,
        fleet: "acme",
        ...this.files,
        ca: broker.authority.file,
        reconnect: { first: "100ms", most: "1s", refused: "1s" },
        ...mqtt,
      },
    });
  }

  /** Installs these files as the board's own. */
  use({ certificate, key }: Certificate): void {
    copyFileSync(certificate, this.files.certificate);
    copyFileSync(key, this.files.key);
  }

  topic(rest: string): string {
    const { fleet, site, board } = this.identity;
    return `sw1/${fleet}/${site}/${board}/${rest}`;
  }

  siteTopic(rest: string): string {
    return `sw1/acme/${this.identity.site}/_site/${rest}`;
  }

  get outbox(): Outbox {
    const bound = { rows: 1000, bytes: 2 ** 20 };
    if (!this.#database) throw new Error("the board is off");
    return new Outbox(this.#database, { event: bound, response: bound });
  }

  /** A process begins. */
  start(): this {
    const database = Database.open({ file: this.#file, migrations: stateMigrations, pragmas: statePragmas });
    const ambient: Ambient = { clock: new SystemClock(), random: new SystemRandom(), log: this.log };
    this.#database = database;
    this.#stop = new AbortController();
    const desk = this.#desk(ambient, database);
    const { config, identity } = this;
    const fleet = new BoardFleet(ambient, {
      config,
      identity,
      url: new URL(config.mqtt.url ?? ""),
      open: mqttLinks(ambient.clock),
      database,
      env: {},
      bootId: this.bootId,
      remoteVersion: () => this.remoteVersion,
      leftOut: () => [],
      reload: () => {
        this.reloads++;
        return "begins";
      },
      judge: ({ config: remote }) => judgeRemote(remote, config.remote.locked),
      unsigned: () => undefined,
      clockState: () => "synced",
      status: () => this.status,
      takeChanges: () => undefined,
      standing: () => this.standing,
      birth: () => ({ version: "0.1.0", commands: [...commands.keys()] }),
      statusChanged: () => {},
    });
    this.fleet = fleet;
    this.#running = Promise.all([desk.run(this.#stop.signal), fleet.run(this.#stop.signal, desk)]);
    return this;
  }

  /** Fills the disk, or makes room again. */
  fillDisk(isFull: boolean): void {
    this.#database?.prepare(`PRAGMA query_only = ${isFull ? "ON" : "OFF"}`).run();
  }

  /** Stops cleanly, like at SIGTERM. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#running;
    this.#database?.close();
    this.#database = undefined;
  }

  #desk(ambient: Ambient, database: Database): CommandDesk {
    const moment = () => ({ now: ambient.clock.now(), bootId: this.bootId, isSynced: true });
    const controls: BoardControls = {
      version: "0.1.0",
      bootId: this.bootId,
      uptime: () => 1000,
      status: (detail) => ({ detail }),
      decisions: () => ({ records: [] }),
      configVersion: () => this.fleet?.configVersion(),
      config: () => ({}),
      announce: () => this.fleet?.announce() ?? {},
      setLogLevel: () => {},
      collectDiagnostics: () => this.#effect("diagnostics"),
      compact: () => this.#effect("compact"),
      restart: () => {},
      reloadCredentials: (dryRun) => this.fleet?.reloadCredentials(dryRun) ?? this.#effect("nothing"),
      applyConfig: (...asked) => this.fleet?.applyConfig(...asked) ?? this.#effect("nothing"),
      rollbackConfig: (...asked) => this.fleet?.rollbackConfig(...asked) ?? this.#effect("nothing"),
    };
    return new CommandDesk(ambient, {
      board: this.identity.board,
      ledger: new Ledger(ambient, { log: new CommandLog(database), moment }),
      levels: new LogLevels(ambient, { memo: new Memo(database), board: controls, moment }),
      counters: { highest: () => undefined, use: async () => undefined },
      site: this.#site(),
      controls,
      clock: () => "synced",
      rules: () => ({ trust: noTrust, policy: openPolicy }),
      obstacle: () => undefined,
      changed: () => {},
    });
  }

  async #effect(what: string): Promise<Effect> {
    this.effects.push(what);
    await this.#options.effect?.(what);
    return { outcome: "done", result: { what } };
  }

  #site(): SiteControls {
    const does = (what: string): Promise<Effect> => this.#effect(what);
    return {
      standing: () => this.standing,
      freeze: (scope) => does(`freeze ${"target" in scope ? scope.target : "site"}`),
      thaw: () => does("thaw"),
      pause: (controller) => does(`pause ${controller}`),
      resume: () => does("resume"),
      releaseValve: () => does("release valve"),
      confirmZoneDead: (zone) => does(`confirm ${zone}`),
      rearmValve: () => does("rearm valve"),
      unconfirmZoneDead: (zone) => does(`unconfirm ${zone}`),
      confirmBoardDead: (board) => does(`confirm ${board}`),
      stepDown: (to) => does(`step down ${to}`),
      cordon: (board) => does(`cordon ${board}`),
      draining: () => undefined,
      drain: () => does("drain"),
    };
  }
}
