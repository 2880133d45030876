import { readFileSync } from "node:fs";
import type { Ambient } from "../base/ambient.ts";
import type { Instant, Millis } from "../base/clock.ts";
import { TaskGroup } from "../base/tasks.ts";
import { type BoardFiles, boardFiles } from "../board/board-files.ts";
import type { BoardHealth, Sickness } from "../board/board-health.ts";
import { type BoardView, boardProblems } from "../board/board-problems.ts";
import { BoardSampler } from "../board/board-sampler.ts";
import { runChild } from "../board/child.ts";
import { ClockSync } from "../board/clock-sync.ts";
import { compatibles } from "../board/facts.ts";
import { nodeConditions, type WantedCondition } from "../board/node-conditions.ts";
import type { BoardReadings } from "../board/readings.ts";
import { parseWindows } from "../config/cron.ts";
import type { Config } from "../config/settings.ts";
import type { Told } from "../status/told.ts";
import { type Quiet, quietHours } from "../upkeep/quiet-hours.ts";
import { type Zone, zoneNamed } from "../upkeep/time-zone.ts";

export interface BoardWatchParts {
  readonly config: Config;
  /** Called on changes the status file should show at once. */
  readonly news: () => void;
  /** Called when the clock is synchronised: operations that failed because of it may succeed now. */
  readonly clockSet?: () => void;
  /** The API server's clock minus this board's. */
  readonly apiSkew?: () => Millis | undefined;
  /** Replaced by tests. */
  readonly files?: BoardFiles;
}

/** Watches the agent's board: sensors, clock and calendar. Created before the agent, which reads it. */
export class BoardWatch implements BoardHealth {
  readonly name = "board";
  readonly clock: ClockSync;
  readonly zone: Zone | undefined;
  /** The quiet hours in force (quietHours.windows), during which nothing is evicted; undefined: none. */
  readonly isQuiet: (now: Instant) => Quiet | undefined;
  readonly #config: Config;
  readonly #sampler: BoardSampler;
  readonly #files: BoardFiles;
  readonly #startedAt: Instant;
  readonly #apiSkew: BoardWatchParts["apiSkew"];

  constructor(ambient: Ambient, { config, news, clockSet, apiSkew, files = boardFiles() }: BoardWatchParts) {
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
        news();
        clockSet?.();
      },
    });
    this.#sampler = new BoardSampler(ambient, {
      files,
      folder: state.folder,
      limits: board,
      every: board.sample,
      clock: () => this.clock.state(),
      changed: news,
    });
    this.zone = zoneNamed(board.timeZone, bytesOf);
    const isQuiet = quietHours(quiet.windows === undefined ? [] : (parseWindows(quiet.windows) ?? []), this.zone);
    this.isQuiet = (now) => isQuiet(now, this.clock.state());
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
    this.#sampler.look();
  }

  /** Wanted conditions of the board's Node; undefined: the sensors have not been read yet. */
  conditions(now: Instant): readonly WantedCondition[] | undefined {
    const readings = this.#sampler.readings();
    return readings && nodeConditions(this.#view(readings), now);
  }

  writtenLastDay(): number | undefined {
    return this.#sampler.writtenLastDay;
  }

  told(now: Instant): Told {
    const clock = { ...this.clock.view(), apiSkew: this.#apiSkew?.() };
    const readings = this.#sampler.readings();
    if (!readings) return { clock };
    const { temperature, power, rails, storage, load1, pressure, hasMemoryCgroup } = readings;
    const quiet = this.isQuiet(now);
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
        load1,
      },
      journal: {
        persistence: storage.isVolatile ? "volatile" : "persistent",
        writtenBytes24h: this.#sampler.writtenLastDay,
        writtenSpan: this.#sampler.writtenSpan(now),
      },
      memory: {
        cgroup: hasMemoryCgroup === undefined ? undefined : hasMemoryCgroup ? "on" : "off",
        psiSome10: pressure.memory,
      },
      problems: [
        ...boardProblems(this.#view(readings), now),
        // Known quiet hours are shown with the leader's holds; unknown ones matter on any board.
        ...(quiet && quiet.until === undefined
          ? [{ type: "QuietHoursUnknown", severity: "warning", message: `nothing is evicted: ${quiet.why}` } as const]
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

/** Asks systemd-timedated, which asks the kernel. undefined on a board without systemd. */
async function askTimedated({ clock }: Ambient, signal: AbortSignal): Promise<string | undefined> {
  const args = ["show", "-p", "NTPSynchronized", "--value"];
  const outcome = await runChild("timedatectl", args, { patience: 10_000, longest: 1000, clock, signal });
  return "output" in outcome ? outcome.output : undefined;
}
