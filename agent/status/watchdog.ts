import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, nextTurn, sleep } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import type { Progress } from "../base/progress.ts";

/** The condition that reports a stuck loop; where its watchdog is enabled, systemd kills the process. */
export const stuckCondition = "LoopStuck";

/** A loop without progress, and since when. */
export interface Stuck {
  readonly name: string;
  readonly since: Instant;
}

/** Returns the loops that exceed their limit. */
export const stuckOf = (
  loops: readonly Progress[],
  limitOf: (name: string) => Millis,
  now: Instant,
): readonly Stuck[] =>
  loops.flatMap(({ name, at }) => (at !== "idle" && elapsed(at, now) > limitOf(name) ? [{ name, since: at }] : []));

export interface WatchdogParts {
  /** systemd's watchdog period; undefined: disabled, and stuck loops are only reported. */
  readonly period: Millis | undefined;
  readonly loops: () => readonly Progress[];
  readonly limitOf: (name: string) => Millis;
  readonly alive: () => void;
  /** Called when the set of stuck loops changes. */
  readonly changed: () => void;
}

const wakingUp: Millis = 1000;

/** Period without systemd's watchdog. */
const ownPeriod: Millis = 60_000;

/**
 * Sends WATCHDOG=1 only while every loop makes progress, which a firing timer alone would not prove. Four times per
 * period, so that one message may be lost. Loops waiting for an operator or the network do not count as stuck, because
 * each of their attempts ends.
 */
export class Watchdog {
  readonly #ambient: Ambient;
  readonly #parts: WatchdogParts;
  #stuck: readonly Stuck[] = [];

  constructor(ambient: Ambient, parts: WatchdogParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** The stuck loops found by the last check. */
  get stuck(): readonly Stuck[] {
    return this.#stuck;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ambient;
    const pause = (this.#parts.period ?? ownPeriod) / 4;
    while (!signal.aborted) {
      this.#look();
      const asleep = clock.now();
      await sleep(clock, pause, signal);
      // After a suspension every loop looks late but is about to continue.
      if (elapsed(asleep, clock.now()) > 2 * pause) await sleep(clock, Math.min(pause, wakingUp), signal);
      // Lets disk and socket callbacks run too, not only timers.
      await nextTurn();
    }
  }

  #look(): void {
    const { clock, log } = this.#ambient;
    const { loops, limitOf, alive, changed } = this.#parts;
    const now = clock.now();
    const stuck = stuckOf(loops(), limitOf, now);
    const isNew = ({ name }: Stuck): boolean => !this.#stuck.some((one) => one.name === name);
    for (const { name, since } of stuck.filter(isNew)) {
      log.error("a loop does not move", { loop: name, for: formatDuration(elapsed(since, now)) });
    }
    const isChanged = stuck.length !== this.#stuck.length || stuck.some(isNew);
    this.#stuck = stuck;
    if (isChanged) changed();
    if (stuck.length === 0) alive();
  }
}
