import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Database } from "../../storage/database.ts";
import { vacuum } from "../../storage/give-back.ts";
import { type Clock, elapsed, type Millis } from "../base/clock.ts";
import type { JsonRecord } from "../base/json.ts";
import type { Level } from "../base/logger.ts";
import type { BoardControls, Source } from "../commands/desk/board-controls.ts";
import type { Effect } from "../commands/desk/controls.ts";
import { done, refused } from "../commands/desk/controls.ts";
import { settings } from "../config/settings.ts";
import { settingsIn, valueAt } from "../config/values.ts";
import type { Status } from "../status/schema.ts";
import type { ProcessControls } from "./process-controls.ts";

/** Operations of the fleet link used by commands; absent without a fleet. */
export interface FleetControls {
  configVersion(): number | undefined;
  announce(): JsonRecord;
  applyConfig(version: number, canary: Millis | undefined, dryRun: boolean): Promise<Effect>;
  rollbackConfig(toVersion: number | undefined, dryRun: boolean): Promise<Effect>;
  reloadCredentials(dryRun: boolean): Promise<Effect>;
}

export interface OwnBoardParts {
  readonly version: string;
  readonly bootId: string;
  readonly controls: ProcessControls;
  readonly status: () => Status | undefined;
  readonly databases: readonly Database[];
  /** Names of the commands allowed here. */
  readonly known: () => readonly string[];
  readonly fleet: FleetControls | undefined;
  readonly collectDiagnostics: BoardControls["collectDiagnostics"];
}

/**
 * Maximum size of a status sent to the fleet, in bytes; `leftOut` names members in the order in which they are dropped.
 */
const longestStatus = 31 * 1024;
const leftOut = ["traffic", "watches", "commands", "controllers", "zones"] as const;

/** This board and its agent as seen by commands. */
export class OwnBoard implements BoardControls {
  readonly version: string;
  readonly bootId: string;
  readonly #clock: Clock;
  readonly #parts: OwnBoardParts;
  readonly #startedMono: Millis;
  readonly applyConfig: BoardControls["applyConfig"];
  readonly rollbackConfig: BoardControls["rollbackConfig"];
  readonly collectDiagnostics: BoardControls["collectDiagnostics"];

  constructor(clock: Clock, parts: OwnBoardParts) {
    const { version, bootId, fleet, collectDiagnostics } = parts;
    this.version = version;
    this.bootId = bootId;
    this.#clock = clock;
    this.#parts = parts;
    this.#startedMono = clock.now().mono;
    this.applyConfig = fleet && ((...args) => fleet.applyConfig(...args));
    this.rollbackConfig = fleet && ((...args) => fleet.rollbackConfig(...args));
    this.collectDiagnostics = collectDiagnostics;
  }

  uptime(): Millis {
    return this.#clock.now().mono - this.#startedMono;
  }

  status(detail: "summary" | "full"): JsonRecord | undefined {
    const status = this.#parts.status();
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
    for (const member of leftOut) {
      if (JSON.stringify(full).length <= longestStatus) break;
      delete full[member];
    }
    return full;
  }

  configVersion(): number | undefined {
    return this.#parts.fleet?.configVersion();
  }

  config(source: Source | undefined): JsonRecord {
    const { config, origins } = this.#parts.controls.loaded;
    const shown = [...settingsIn(settings)].flatMap(({ path, setting }) => {
      const origin = origins.get(path) ?? "default";
      if (source !== undefined && sourceOf(origin) !== source) return [];
      const value = valueAt(config, path);
      return [[path, { value: value === undefined ? null : redacted(setting.show(value)), origin }] as const];
    });
    return { settings: Object.fromEntries(shown) };
  }

  announce(): JsonRecord {
    const { fleet, version, known } = this.#parts;
    return fleet ? fleet.announce() : { version, bootId: this.bootId, commands: known() };
  }

  setLogLevel(level: Level | undefined, component?: string): void {
    this.#parts.controls.setLogLevel(level, component);
  }

  async compact(isThorough: boolean, dryRun: boolean): Promise<Effect> {
    const { databases } = this.#parts;
    const begun = this.#clock.now();
    const before = total(databases);
    if (isThorough) {
      const { file } = databases[0] ?? {};
      const { bavail, bsize } = statfsSync(file === undefined ? "/" : dirname(file));
      // VACUUM writes all live data again, beside the old file and into its WAL.
      if (bavail * bsize < 2 * before) {
        return refused(507, "free-space", "there is less room on the disk than twice what the databases take", {
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
    this.#parts.controls.restart({ cause: "command", message: cause });
  }

  async reloadCredentials(dryRun: boolean): Promise<Effect> {
    const { controls, fleet } = this.#parts;
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
 * Parses origins, which are display texts: "default", "host name", "profile rpi-4", "fleet, version 3", "SITEWARD_X",
 * "FILE:LINE".
 */
function sourceOf(origin: string): Source {
  if (origin.startsWith("profile ")) return "profile";
  if (origin.startsWith("fleet, ")) return "remote";
  if (origin.startsWith("SITEWARD_")) return "environment";
  return origin.startsWith("/") || /:\d+$/.test(origin) ? "file" : "default";
}

/** Settings name files and hold no secrets; only a URL may contain credentials. */
const redacted = (shown: string): string => shown.replace(/(:\/\/)[^/@\s]+@/g, "$1...@");
