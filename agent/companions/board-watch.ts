import { readFileSync } from "node:fs";
import type { Ambient } from "../base/ambient.ts";
import type { Instant, Millis } from "../base/clock.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import type { BoardHealth, Sickness } from "../board/board-health.ts";
import { type BoardView, boardProblems } from "../board/board-problems.ts";
import { BoardSampler } from "../board/board-sampler.ts";
import { runChild } from "../board/child.ts";
import { ClockSync } from "../board/clock-sync.ts";
import { compatibles } from "../board/facts.ts";
import { nodeConditions, type WantedCondition } from "../board/node-conditions.ts";
import { type BoardFiles, boardFiles } from "../board/sensors/board-files.ts";
import type { BoardReadings } from "../board/sensors/readings.ts";
import { parseWindows } from "../config/cron.ts";
import type { Config } from "../config/settings.ts";
import type { StatusContribution } from "../status/contribution.ts";
import { type QuietTime, quietHours } from "../upkeep/quiet-hours.ts";
import { type Zone, zoneNamed } from "../upkeep/time-zone.ts";

export interface BoardWatchDeps {
  readonly config: Config;
  /** Called after each change that must appear in the status file immediately. */
  readonly statusChanged: () => void;
  /**
   * Called when the clock is synchronised: operations that failed because of the wrong time may succeed from now on.
   */
  readonly clockSet?: () => void;
  /** How far the API server's clock is ahead of this board's clock; undefined if unknown. */
  readonly apiSkew?: () => Millis | undefined;
  /** Default: the files of this machine. */
  readonly files?: BoardFiles;
}

/** Observes the board that the agent runs on: its sensors, its clock, and the calendar of quiet hours. */
export class BoardWatch implements BoardHealth {
  readonly name = "board";
  readonly clock: ClockSync;
  readonly zone: Zone | undefined;
  /** The quiet hours (quietHours.windows) that contain this instant; undefined if there are none. */
  readonly quietHoursAt: (now: Instant) => QuietTime | undefined;
  readonly #config: Config;
  readonly #sampler: BoardSampler;
  readonly #files: BoardFiles;
  readonly #startedAt: Instant;
  readonly #apiSkew: BoardWatchDeps["apiSkew"];

  constructor(ambient: Ambient, { config, statusChanged, clockSet, apiSkew, files = boardFiles() }: BoardWatchDeps) {
    const { board, state, quietHours: quiet } = config;
    this.#config = config;
    this.#files = files;
    this.#apiSkew = apiSkew;
    this.#startedAt = ambient.clock.now();
    this.clock = new ClockSync(ambient, {
      isTrusted: board.clock === "trusted",
      read: files.read,
      ask: (signal) => askTimedated(ambient, signal),
      changed: () => {
        statusChanged();
        clockSet?.();
      },
    });
    this.#sampler = new BoardSampler(ambient, {
      files,
      folder: state.folder,
      limits: board,
      every: board.sample,
      clock: () => this.clock.state(),
      changed: statusChanged,
    });
    this.zone = zoneNamed(board.timeZone, bytesOf);
    const hoursAt = quietHours(quiet.windows === undefined ? [] : (parseWindows(quiet.windows) ?? []), this.zone);
    this.quietHoursAt = (now) => hoursAt(now, this.clock.state());
  }

  async run(signal: AbortSignal): Promise<void> {
    const tasks = new TaskGroup(signal);
    tasks.start("sensors", (inner) => this.#sampler.run(inner));
    tasks.start("clock", (inner) => this.clock.run(inner));
    await tasks.join();
  }

  sickness(): Sickness | undefined {
    return this.#sampler.sickness();
  }

  readings(): BoardReadings | undefined {
    return this.#sampler.readings();
  }

  /** Reads all sensors now. */
  look(): void {
    this.#sampler.sample();
  }

  /** The conditions that the board's Node should have; undefined before the sensors have been read. */
  conditions(now: Instant): readonly WantedCondition[] | undefined {
    const readings = this.#sampler.readings();
    return readings && nodeConditions(this.#view(readings), now);
  }

  bytesWrittenLastDay(): number | undefined {
    return this.#sampler.bytesWrittenLastDay;
  }

  contribution(now: Instant): StatusContribution {
    const clock = { ...this.clock.view(), apiSkewMs: this.#apiSkew?.() };
    const readings = this.#sampler.readings();
    if (!readings) return { clock };
    const { temperature, power, rails, storage, load1, pressure, hasMemoryCgroup } = readings;
    const quiet = this.quietHoursAt(now);
    return {
      clock,
      board: {
        compatible: compatibles(this.#files.read)[0],
        tempC: temperature?.celsius,
        tempZone: temperature?.zone,
        throttled: power,
        storage: {
          dev: storage.device,
          kind: storage.kind,
          wear: storage.wear?.usedPercent === undefined ? undefined : storage.wear.usedPercent / 100,
          freeBytes: storage.freeBytes,
          readOnly: storage.isReadOnly,
        },
        rails: rails.length > 0 ? rails : undefined,
        ioPsiSome10: pressure.io,
        loadavg1: load1,
      },
      journal: {
        persistence: storage.isVolatile ? "volatile" : "persistent",
        writtenBytes24h: this.#sampler.bytesWrittenLastDay,
        writtenSpanMs: this.#sampler.writtenSpan(now),
      },
      memory: {
        cgroup: hasMemoryCgroup === undefined ? undefined : hasMemoryCgroup ? "on" : "off",
        psiSome10: pressure.memory,
      },
      problems: [
        ...boardProblems(this.#view(readings), now),
        // Quiet hours with a known end are shown by the leader, among the holds. If the end is unknown, every board
        // reports that.
        ...(quiet && quiet.until === undefined
          ? [
              {
                type: "QuietHoursUnknown",
                severity: "warning",
                message: `no pod is evicted because its board is lost or not ready, as in quiet hours: ${quiet.why}`,
              } as const,
            ]
          : []),
      ],
    };
  }

  #view(readings: BoardReadings): BoardView {
    return {
      readings,
      standings: this.#sampler.standings(),
      limits: this.#config.board,
      clock: this.clock.state(),
      startedAt: this.#startedAt,
    };
  }
}

const bytesOf = (file: string): Uint8Array | undefined => {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
};

/**
 * Whether the kernel's clock is synchronised ("yes" or "no"), according to timedatectl; undefined on a board without
 * systemd.
 */
async function askTimedated({ clock }: Ambient, signal: AbortSignal): Promise<string | undefined> {
  const args = ["show", "-p", "NTPSynchronized", "--value"];
  const outcome = await runChild("timedatectl", args, { patience: 10_000, longest: 1000, clock, signal });
  return "output" in outcome ? outcome.output : undefined;
}
