import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { BoardHealth, Sickness } from "./board-health.ts";
import type { ClockState } from "./clock-sync.ts";
import { DailyWrites } from "./daily-writes.ts";
import { type DebouncedSymptom, recordSample, unseen } from "./debounce.ts";
import { type SensorLimits, type Signs, signsIn } from "./limits.ts";
import type { BoardFiles } from "./sensors/board-files.ts";
import { type Mount, mountOf } from "./sensors/mount.ts";
import { readBoard } from "./sensors/read-board.ts";
import type { BoardReadings } from "./sensors/readings.ts";

export interface BoardSamplerDeps {
  readonly files: BoardFiles;
  /** The state folder, whose storage the sampler watches. */
  readonly folder: string;
  readonly limits: SensorLimits;
  /** The pause between two samples. */
  readonly every: Millis;
  readonly clock: () => ClockState;
  /** Called after a sample in which a sign appeared or disappeared. */
  readonly changed: () => void;
}

/** One sign of trouble, filtered over two periods. */
export interface SignStanding {
  /** Ends two minutes after the sign was last seen, or later if the sign recurs. Decides whether the board may lead. */
  readonly short: DebouncedSymptom;
  /** Ends ten minutes after the sign was last seen, or later if the sign recurs. Shown in the Node's conditions. */
  readonly long: DebouncedSymptom;
}

export type Standings = { readonly [name in keyof Signs | "clock"]: SignStanding };

/** The values of `within` (see `recordSample` in debounce.ts) for the two filters. */
const longMemory: Millis = 600_000;
const shortMemory: Millis = 120_000;

/** Interval between reads of the mount table. Whether the file system refuses writes is checked in every sample. */
const mountsEvery: Millis = 300_000;

/** A date before any release of this program, so a clock that shows an earlier time has never been set. */
const earliestWall: Millis = Date.UTC(2026, 0, 1);

/** Reads the sensors periodically, and filters their signs over time. */
export class BoardSampler implements BoardHealth {
  readonly #ambient: Ambient;
  readonly #deps: BoardSamplerDeps;
  readonly #writes = new DailyWrites();
  #readings: BoardReadings | undefined;
  #mount: { readonly at: Instant; readonly mount: Mount | undefined } | undefined;
  #standings: Standings = noSigns;

  constructor(ambient: Ambient, deps: BoardSamplerDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  readings(): BoardReadings | undefined {
    return this.#readings;
  }

  standings(): Standings {
    return this.#standings;
  }

  /** Bytes that this process wrote to disk within `writtenSpan`; undefined if not measured yet. */
  get bytesWrittenLastDay(): number | undefined {
    return this.#writes.lastDay;
  }

  /**
   * The period that `bytesWrittenLastDay` covers: a day, or less if the process started later; undefined if not
   * measured yet.
   */
  writtenSpan(now: Instant): Millis | undefined {
    return this.#writes.span(now);
  }

  sickness(): Sickness | undefined {
    for (const [name, why] of reasons) {
      const { since } = this.#standings[name].short;
      if (since !== undefined) return { why, since };
    }
    return undefined;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.sample();
      await sleep(this.#ambient.clock, this.#deps.every, signal);
    }
  }

  /** Reads all sensors once. */
  sample(): void {
    const { clock, log } = this.#ambient;
    const { files, folder, limits, every } = this.#deps;
    const now = clock.now();
    const readings = readBoard(files, folder, now, this.#mountAt(now));
    this.#readings = readings;
    if (readings.writtenBytes !== undefined) this.#writes.add(now, readings.writtenBytes);
    const isBehind = this.#deps.clock() === "unsynced" && now.wall < earliestWall;
    const signs = { ...signsIn(readings, limits), clock: isBehind };
    const before = this.#standings;
    // At least three periods, so that two successive samples always count as one sign.
    const short = Math.max(shortMemory, 3 * every);
    const long = Math.max(longMemory, 3 * every);
    const names = Object.keys(noSigns) as readonly (keyof Standings)[];
    const next = names.map((name) => [
      name,
      {
        short: recordSample(before[name].short, signs[name], now, short),
        long: recordSample(before[name].long, signs[name], now, long),
      },
    ]);
    this.#standings = Object.fromEntries(next) as Standings;
    const changed = names.filter(
      (name) => (before[name].short.since === undefined) !== (this.#standings[name].short.since === undefined),
    );
    for (const name of changed) {
      const isOver = this.#standings[name].short.since === undefined;
      log[isOver ? "info" : "warn"](isOver ? "board recovered" : "board unwell", { what: words[name] });
    }
    const isToggled = names.some((name) => before[name].short.isNow !== this.#standings[name].short.isNow);
    if (isToggled || changed.length > 0) this.#deps.changed();
  }

  #mountAt(now: Instant): Mount | undefined {
    // While the mount is read-only, the board must not lead, so a repaired mount should be noticed immediately.
    const isOld = this.#mount === undefined || elapsed(this.#mount.at, now) >= mountsEvery;
    if (isOld || this.#mount?.mount?.isReadOnly) {
      const { files, folder } = this.#deps;
      this.#mount = { at: now, mount: mountOf(files, folder) };
    }
    return this.#mount?.mount;
  }
}

const words: { readonly [name in keyof Standings]: string } = {
  undervolted: "undervolted",
  throttled: "throttled",
  hot: "too warm",
  overheated: "too hot",
  overcurrent: "draws too much current",
  readOnly: "its storage is read-only",
  pressed: "short of memory",
  clock: "its clock has never been set",
};

/** Signs that keep a board from leading, the gravest first. */
const reasons = (["readOnly", "undervolted", "throttled", "clock"] as const).map(
  (name) => [name, words[name]] as const,
);

const none: SignStanding = { short: unseen, long: unseen };
const noSigns: Standings = {
  undervolted: none,
  throttled: none,
  hot: none,
  overheated: none,
  overcurrent: none,
  readOnly: none,
  pressed: none,
  clock: none,
};
