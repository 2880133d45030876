import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, nextTurn, sleep } from "../base/clock.ts";
import type { Progress } from "../base/progress.ts";
import { formatDuration } from "../base/time/duration.ts";

/** Type of the condition for a stuck loop. If its watchdog is enabled, systemd then kills the process. */
export const stuckCondition = "LoopStuck";

/** A loop without progress, and the time of its last progress. */
export interface Stuck {
  readonly name: string;
  readonly since: Instant;
}

/** The loops that have been without progress for longer than their limit. */
export const stuckOf = (
  loops: readonly Progress[],
  limitOf: (name: string) => Millis,
  now: Instant,
): readonly Stuck[] =>
  loops.flatMap(({ name, at }) => (at !== "idle" && elapsed(at, now) > limitOf(name) ? [{ name, since: at }] : []));

export interface WatchdogDeps {
  /** systemd's watchdog period; undefined if it is disabled, in which case stuck loops are only reported. */
  readonly period: Millis | undefined;
  readonly loops: () => readonly Progress[];
  readonly limitOf: (name: string) => Millis;
  readonly alive: () => void;
  /** Called when the set of stuck loops changes. */
  readonly changed: () => void;
}

const wakingUp: Millis = 1000;

/** Interval of the checks without systemd's watchdog. */
const ownPeriod: Millis = 60_000;

/**
 * Sends WATCHDOG=1 four times per period while every loop makes progress. A loop that waits for an operator or the
 * network is not stuck, because each of its attempts ends.
 */
export class Watchdog {
  readonly #ambient: Ambient;
  readonly #deps: WatchdogDeps;
  #stuck: readonly Stuck[] = [];

  constructor(ambient: Ambient, deps: WatchdogDeps) {
    this.#ambient = ambient;
    this.#deps = deps;
  }

  /** The stuck loops found by the last check. */
  get stuck(): readonly Stuck[] {
    return this.#stuck;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const pause = (this.#deps.period ?? ownPeriod) / 4;
    while (!signal.aborted) {
      this.#look();
      const asleep = clock.now();
      await sleep(clock, pause, signal);
      // After a suspension, every loop appears late but is about to continue.
      if (elapsed(asleep, clock.now()) > 2 * pause) await sleep(clock, Math.min(pause, wakingUp), signal);
      // Lets disk and socket callbacks run as well, not just timers.
      await nextTurn();
    }
  }

  #look(): void {
    const { clock, log } = this.#ambient;
    const { loops, limitOf, alive, changed } = this.#deps;
    const now = clock.now();
    const stuck = stuckOf(loops(), limitOf, now);
    const isNew = ({ name }: Stuck): boolean => !this.#stuck.some((one) => one.name === name);
    for (const { name, since } of stuck.filter(isNew)) {
      log.error("a loop makes no progress", { loop: name, for: formatDuration(elapsed(since, now)) });
    }
    const isChanged = stuck.length !== this.#stuck.length || stuck.some(isNew);
    this.#stuck = stuck;
    if (isChanged) changed();
    if (stuck.length === 0) alive();
  }
}
