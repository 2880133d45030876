import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, sleep } from "../base/clock.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { Cron } from "../config/cron.ts";
import { lastBegin } from "./calendar.ts";
import type { Zone } from "./time-zone.ts";

/** A maintenance task. Its errors end the agent, so it throws only errors that must do so. */
export interface Task {
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

export interface UpkeepDeps {
  readonly schedule: Cron;
  /** The time zone of the schedule; UTC if this board does not know it. */
  readonly zone: Zone;
  readonly clock: () => ClockState;
  readonly tasks: readonly Task[];
}

/** Interval of the checks; schedules start on whole minutes. */
const checkInterval: Millis = 60_000;

/** Interval of the maintenance while the clock is not synchronised. */
const unsetPeriod: Millis = 86_400_000;

/** A missed start is made up for if it is not older than this. */
const madeUp: Millis = 6 * 3_600_000;

/** Runs the maintenance tasks on schedule, one after another. */
export class Upkeep {
  readonly #ambient: Ambient;
  readonly #deps: UpkeepDeps;
  /** When the schedule was last checked. */
  #checked: Instant;
  /** When the last maintenance began; at first the start of the process. */
  #done: Instant;

  constructor(ambient: Ambient, deps: UpkeepDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
    this.#checked = ambient.clock.now();
    this.#done = this.#checked;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    while (!signal.aborted) {
      await sleep(clock, checkInterval, signal);
      if (signal.aborted) return;
      const now = clock.now();
      const isDue = this.#isDue(now);
      this.#checked = now;
      if (isDue) await this.#maintain(now, signal);
    }
  }

  #isDue(now: Instant): boolean {
    const { schedule, zone, clock } = this.#deps;
    if (clock() === "unsynced") return elapsed(this.#done, now) >= unsetPeriod;
    // If the clock was set, starts within the skipped time do not count as missed, and a jump back does not repeat any.
    const passed = elapsed(this.#checked, now);
    const jumped = Math.abs(now.wall - this.#checked.wall - passed) > checkInterval;
    const back = jumped ? Math.min(passed, madeUp) : Math.min(now.wall - this.#checked.wall, madeUp);
    return back > 0 && lastBegin(schedule, zone, now.wall, back) !== undefined;
  }

  async #maintain(now: Instant, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#ambient;
    this.#done = now;
    for (const task of this.#deps.tasks) {
      if (signal.aborted) return;
      const begun = clock.now();
      await task.run(signal);
      log.debug("maintenance", { task: task.name, tookMs: Math.round(elapsed(begun, clock.now())) });
    }
  }
}
