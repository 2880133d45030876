import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { Cron } from "../config/cron.ts";
import { lastBegin } from "./calendar.ts";
import type { Zone } from "./time-zone.ts";

/** A maintenance task. It throws only errors that the agent cannot survive. */
export interface Task {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

export interface UpkeepParts {
  readonly schedule: Cron;
  /** The time zone of the schedule; UTC if this board does not know it. */
  readonly zone: Zone;
  readonly clock: () => ClockState;
  readonly tasks: readonly Task[];
}

/** Interval of checks: schedules start on whole minutes. */
const look: Millis = 60_000;

/** Interval of maintenance while the clock has never been set. */
const unsetPeriod: Millis = 86_400_000;

/** A missed start is made up for within this time. */
const madeUp: Millis = 6 * 3_600_000;

/** Runs the maintenance by the calendar, one task after another, so that none overlaps another or itself. */
export class Upkeep {
  readonly #ambient: Ambient;
  readonly #parts: UpkeepParts;
  /** The calendar was checked up to here. */
  #looked: Instant;
  #done: Instant;

  constructor(ambient: Ambient, parts: UpkeepParts) {
    this.#ambient = ambient;
    this.#parts = parts;
    this.#looked = ambient.clock.now();
    this.#done = this.#looked;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    while (!signal.aborted) {
      await sleep(clock, look, signal);
      if (signal.aborted) return;
      const now = clock.now();
      const isDue = this.#isDue(now);
      this.#looked = now;
      if (isDue) await this.#maintain(now, signal);
    }
  }

  #isDue(now: Instant): boolean {
    const { schedule, zone, clock } = this.#parts;
    if (clock() === "unsynced") return elapsed(this.#done, now) >= unsetPeriod;
    // A clock that was set missed no start, however far it jumped; one set back does not repeat any.
    const passed = elapsed(this.#looked, now);
    const jumped = Math.abs(now.wall - this.#looked.wall - passed) > look;
    const back = jumped ? Math.min(passed, madeUp) : Math.min(now.wall - this.#looked.wall, madeUp);
    return back > 0 && lastBegin(schedule, zone, now.wall, back) !== undefined;
  }

  async #maintain(now: Instant, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    this.#done = now;
    for (const task of this.#parts.tasks) {
      if (signal.aborted) return;
      const begun = clock.now();
      await task.run(signal);
      log.debug("maintenance", { task: task.name, tookMs: Math.round(elapsed(begun, clock.now())) });
    }
  }
}
