import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Database } from "../../../storage/database/database.ts";
import { vacuum } from "../../../storage/database/give-back.ts";
import type { DecisionRange } from "../../../storage/decision-log.ts";
import { type Clock, elapsed, type Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { LogLevel } from "../../base/logger.ts";
import type { Loaded } from "../../config/load.ts";
import { settings } from "../../config/settings.ts";
import { settingsIn, valueAt } from "../../config/values.ts";
import type { DecisionBook } from "../../decisions/decision-book.ts";
import type { Status } from "../../status/schema.ts";
import type { BoardControls, Source } from "../desk/board-controls.ts";
import type { Effect } from "../desk/controls.ts";
import { done, refused } from "../desk/controls.ts";

/** The operations of the fleet link that commands use. */
export interface FleetControls {
  configVersion(): number | undefined;
  announce(): JsonRecord;
  applyConfig(version: number, canary: Millis | undefined, dryRun: boolean): Promise<Effect>;
  rollbackConfig(toVersion: number | undefined, dryRun: boolean): Promise<Effect>;
  reloadCredentials(dryRun: boolean): Promise<Effect>;
}

/** The operations of the process that commands use. */
export interface ProcessOperations {
  readonly loaded: Pick<Loaded, "config" | "origins">;
  setLogLevel(level: LogLevel | undefined, component?: string): void;
  /** Ends the process cleanly; the service manager starts the next one. */
  restart(ending: { readonly cause: string; readonly message: string }): void;
  /** Returns why the new credentials cannot be used, and keeps the old ones; undefined if they are in use. */
  reloadCredentials(): Promise<string | undefined>;
}

export interface BoardOperationsDeps {
  readonly version: string;
  readonly bootId: string;
  readonly controls: ProcessOperations;
  readonly status: () => Status | undefined;
  readonly decisions: Pick<DecisionBook, "newest" | "heldGroups">;
  readonly databases: readonly Database[];
  /** Names of the commands that the board's policy allows. */
  readonly allowed: () => readonly string[];
  /** The operations of the fleet link; undefined if the board belongs to no fleet. */
  readonly fleet: FleetControls | undefined;
  readonly collectDiagnostics: BoardControls["collectDiagnostics"];
}

/** Longest status sent to the fleet, in bytes. */
const maxStatusLength = 31 * 1024;
/** Longest list of decision records sent to the fleet, in bytes. */
const maxDecisionsLength = 24 * 1024;
/** Maximum number of groups of held acts sent along with the decision records. A group takes about 400 bytes. */
const maxHeld = 16;
/** Members removed, in this order, from a status that is too long. */
const removable = ["traffic", "watches", "commands", "controllers", "zones"] as const;

/** Executes commands on this board and its agent. */
export class BoardOperations implements BoardControls {
  readonly version: string;
  readonly bootId: string;
  readonly #clock: Clock;
  readonly #deps: BoardOperationsDeps;
  readonly #startedMono: Millis;
  readonly applyConfig: BoardControls["applyConfig"];
  readonly rollbackConfig: BoardControls["rollbackConfig"];
  readonly collectDiagnostics: BoardControls["collectDiagnostics"];

  constructor(clock: Clock, deps: BoardOperationsDeps) {
    const { version, bootId, fleet, collectDiagnostics } = deps;
    this.version = version;
    this.bootId = bootId;
    this.#clock = clock;
    this.#deps = deps;
    this.#startedMono = clock.now().mono;
    this.applyConfig = fleet && ((...args) => fleet.applyConfig(...args));
    this.rollbackConfig = fleet && ((...args) => fleet.rollbackConfig(...args));
    this.collectDiagnostics = collectDiagnostics;
  }

  uptime(): Millis {
    return this.#clock.now().mono - this.#startedMono;
  }

  decisions(about: string | undefined, most: number, range?: DecisionRange): JsonRecord {
    const { decisions, status } = this.#deps;
    const newest = decisions.newest(about, most, range);
    // Fewer are asked for, instead of leaving out the oldest ones, so that half of them are still about the board itself.
    let texts = newest;
    for (let bytes = lengthOf(texts); bytes > maxDecisionsLength; bytes = lengthOf(texts)) {
      const fitting = Math.floor((texts.length * maxDecisionsLength) / bytes);
      texts = decisions.newest(about, Math.min(fitting, texts.length - 1), range);
    }
    const records = texts.map((text): unknown => JSON.parse(text));
    const { holder, role, term } = status()?.leader ?? {};
    const held = role === "leader" && term !== undefined ? decisions.heldGroups(term).slice(0, maxHeld) : undefined;
    const isCut = texts.length < newest.length ? true : undefined;
    return { board: this.#deps.controls.loaded.config.board.name, leader: holder, records, isCut, held };
  }

  status(detail: "summary" | "full"): JsonRecord | undefined {
    const status = this.#deps.status();
    if (!status) return undefined;
    const { schema, writtenAt, version, bootId, startedAt, health, identity, clock, leader, link, eviction, config } =
      status;
    if (detail === "summary") {
      const { level, ready, conditions } = health;
      return {
        ...{ schema, writtenAt, version, bootId, startedAt, identity, clock, leader, eviction },
        health: {
          level,
          ready,
          conditions: conditions.slice(0, 10).map(({ type, subject, severity }) => ({ type, subject, severity })),
        },
        link: { api: link?.api.state, mqtt: link?.mqtt?.state },
        config: {
          desiredVersion: config?.desiredVersion,
          appliedVersion: config?.appliedVersion,
          state: config?.state,
        },
      };
    }
    const full: Record<string, unknown> = { ...status };
    for (const member of removable) {
      if (JSON.stringify(full).length <= maxStatusLength) break;
      delete full[member];
    }
    return full;
  }

  configVersion(): number | undefined {
    return this.#deps.fleet?.configVersion();
  }

  config(source: Source | undefined): JsonRecord {
    const { config, origins } = this.#deps.controls.loaded;
    const shown = [...settingsIn(settings)].flatMap(({ path, setting }) => {
      const origin = origins.get(path) ?? "default";
      if (source !== undefined && sourceOf(origin) !== source) return [];
      const value = valueAt(config, path);
      return [[path, { value: value === undefined ? null : redacted(setting.show(value)), origin }] as const];
    });
    return { settings: Object.fromEntries(shown) };
  }

  announce(): JsonRecord {
    const { fleet, version, allowed } = this.#deps;
    return fleet ? fleet.announce() : { version, bootId: this.bootId, commands: allowed() };
  }

  setLogLevel(level: LogLevel | undefined, component?: string): void {
    this.#deps.controls.setLogLevel(level, component);
  }

  async compact(isThorough: boolean, dryRun: boolean): Promise<Effect> {
    const { databases } = this.#deps;
    const begun = this.#clock.now();
    const before = total(databases);
    if (isThorough) {
      const { file } = databases[0] ?? {};
      const { bavail, bsize } = statfsSync(file === undefined ? "/" : dirname(file));
      // VACUUM writes all live data twice: into a temporary file, and into the WAL.
      if (bavail * bsize < 2 * before) {
        return refused(507, "free-space", "vacuum needs free disk space of twice the databases' size", {
          freeBytes: bavail * bsize,
          bytes: before,
        });
      }
    }
    if (dryRun) return done({ beforeBytes: before });
    for (const database of databases) {
      if (isThorough) vacuum(database);
      else database.checkpoint();
    }
    const ms = Math.round(elapsed(begun, this.#clock.now()));
    return done({ beforeBytes: before, afterBytes: total(databases), ms });
  }

  restart(cause: string): void {
    this.#deps.controls.restart({ cause: "command", message: cause });
  }

  async reloadCredentials(dryRun: boolean): Promise<Effect> {
    const { controls, fleet } = this.#deps;
    const ofFleet = await fleet?.reloadCredentials(dryRun);
    if (ofFleet && ofFleet.outcome !== "done") return ofFleet;
    const problem = dryRun ? undefined : await controls.reloadCredentials();
    if (problem !== undefined) {
      return {
        outcome: "failed",
        code: 500,
        error: "credentials",
        message: problem,
        result: { mqtt: ofFleet?.result },
      };
    }
    return done({ mqtt: ofFleet?.result, api: { taken: !dryRun } });
  }
}

const total = (databases: readonly Database[]): number =>
  databases.reduce((sum, database) => sum + database.sizes().file + database.sizes().wal, 0);

/**
 * The source that a setting's origin stands for. Origins are texts for display: "default", "host name", "profile
 * rpi-4", "fleet, version 3", "SITEWARD_X", "FILE:LINE".
 */
function sourceOf(origin: string): Source {
  if (origin.startsWith("profile ")) return "profile";
  if (origin.startsWith("fleet, ")) return "remote";
  if (origin.startsWith("SITEWARD_")) return "environment";
  return origin.startsWith("/") || /:\d+$/.test(origin) ? "file" : "default";
}

/** Removes credentials from URLs. Other settings contain no secrets, only names of files that contain them. */
const redacted = (shown: string): string => shown.replace(/(:\/\/)[^/@\s]+@/g, "$1...@");

/** The length of these texts in a list, in bytes. */
const lengthOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1, 0);
