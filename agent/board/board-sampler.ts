import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { BoardFiles } from "./board-files.ts";
import type { BoardHealth, Sickness } from "./board-health.ts";
import type { ClockState } from "./clock-sync.ts";
import { DailyWrites } from "./daily-writes.ts";
import { looked, type Sign, unseen } from "./debounce.ts";
import { type SensorLimits, type Signs, signsIn } from "./limits.ts";
import { type Mount, mountOf } from "./mount.ts";
import { readBoard } from "./read-board.ts";
import type { BoardReadings } from "./readings.ts";

export interface BoardSamplerParts {
  readonly files: BoardFiles;
  /** The state folder: the sampler watches its medium. */
  readonly folder: string;
  readonly limits: SensorLimits;
  readonly every: Millis;
  readonly clock: () => ClockState;
  /** Called when a sample made a sign come or go. */
  readonly changed: () => void;
}

/** Whether a sign stands, once for the decision to lead, once for the board's Node in Kubernetes. */
export interface Standing {
  /** Stands soon, and is soon over unless it returns. */
  readonly short: Sign;
  /** The same, remembered for at least ten minutes. */
  readonly long: Sign;
}

export type Standings = { readonly [name in keyof Signs | "clock"]: Standing };

/** How far apart two sightings may lie that count as one sign. */
const longMemory: Millis = 600_000;
const shortMemory: Millis = 120_000;

/** How often the mount table is read. A file system that refuses writes is noticed in every sample. */
const mountsEvery: Millis = 300_000;

/** No version of this program is older: a board with an earlier clock started without one. */
const earliestWall: Millis = Date.UTC(2026, 0, 1);

/** Reads the sensors periodically, and filters their signs over time. */
export class BoardSampler implements BoardHealth {
  readonly #ambient: Ambient;
  readonly #parts: BoardSamplerParts;
  readonly #writes = new DailyWrites();
  #readings: BoardReadings | undefined;
  #mount: { readonly at: Instant; readonly mount: Mount | undefined } | undefined;
  #standings: Standings = noSigns;

  constructor(ambient: Ambient, parts: BoardSamplerParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  readings(): BoardReadings | undefined {
    return this.#readings;
  }

  standings(): Standings {
    return this.#standings;
  }

  /** Bytes that this process wrote to disk within the last day, or since its start. */
  get writtenLastDay(): number | undefined {
    return this.#writes.lastDay;
  }

  /** The period in which these bytes were written. */
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
      this.look();
      await sleep(this.#ambient.clock, this.#parts.every, signal);
    }
  }

  /** Takes one sample of all sensors. */
  look(): void {
    const { clock, log } = this.#ambient;
    const { files, folder, limits, every } = this.#parts;
    const now = clock.now();
    const readings = readBoard(files, folder, now, this.#mountAt(now));
    this.#readings = readings;
    if (readings.writtenBytes !== undefined) this.#writes.add(now, readings.writtenBytes);
    const isBehind = this.#parts.clock() === "unsynced" && now.wall < earliestWall;
    const signs = { ...signsIn(readings, limits), clock: isBehind };
    const before = this.#standings;
    // Even at the slowest rate, two successive samples lie within the memory.
    const short = Math.max(shortMemory, 3 * every);
    const long = Math.max(longMemory, 3 * every);
    const names = Object.keys(noSigns) as readonly (keyof Standings)[];
    const next = names.map((name) => [
      name,
      {
        short: looked(before[name].short, signs[name], now, short),
        long: looked(before[name].long, signs[name], now, long),
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
    const isNews = names.some((name) => before[name].short.isNow !== this.#standings[name].short.isNow);
    if (isNews || changed.length > 0) this.#parts.changed();
  }

  #mountAt(now: Instant): Mount | undefined {
    // A read-only mount may be repaired at any time, and the board counts as sick until that is seen.
    const isOld = this.#mount === undefined || elapsed(this.#mount.at, now) >= mountsEvery;
    if (isOld || this.#mount?.mount?.isReadOnly) {
      const { files, folder } = this.#parts;
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
  clock: "its clock was never set",
};

/** Signs that keep a board from leading, the gravest first. */
const reasons = (["readOnly", "undervolted", "throttled", "clock"] as const).map(
  (name) => [name, words[name]] as const,
);

const none: Standing = { short: unseen, long: unseen };
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
