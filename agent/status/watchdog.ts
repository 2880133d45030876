import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, nextTurn, sleep } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import type { Progress } from "../base/progress.ts";

/** The condition by which a process tells that a loop in it does not move; where systemd watches, it will end it. */
export const stuckCondition = "LoopStuck";

/** A loop that does not move, and since when. */
export interface Stuck {
  readonly name: string;
  readonly since: Instant;
}

/** Which loops have not moved for longer than they may. */
export const stuckOf = (
  loops: readonly Progress[],
  limitOf: (name: string) => Millis,
  now: Instant,
): readonly Stuck[] =>
  loops.flatMap(({ name, at }) => (at !== "idle" && elapsed(at, now) > limitOf(name) ? [{ name, since: at }] : []));

export interface WatchdogParts {
  /** Within which systemd wants to hear from us; undefined: it does not listen, and we only tell of stuck loops. */
  readonly period: Millis | undefined;
  readonly loops: () => readonly Progress[];
  readonly limitOf: (name: string) => Millis;
  readonly alive: () => void;
  /** Called when other loops are stuck than before. */
  readonly changed: () => void;
}

const wakingUp: Millis = 1000;

/** Where nobody listens. */
const ownPeriod: Millis = 60_000;

/**
 * Says that the program lives, and only while every loop in it moves: a timer that fires proves nothing about them. Four
 * times within the period, so that one message may be lost. What a person or the network has to mend is not its business:
 * a loop that waits for them moves, because each of its attempts ends.
 */
export class Watchdog {
  readonly #ambient: Ambient;
  readonly #parts: WatchdogParts;
  #stuck: readonly Stuck[] = [];

  constructor(ambient: Ambient, parts: WatchdogParts) {
    this.#ambient = ambient;
    this.#parts = parts;
  }

  /** Those of the last look. */
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
      // A process that was suspended finds each of its loops late, and about to move.
      if (elapsed(asleep, clock.now()) > 2 * pause) await sleep(clock, Math.min(pause, wakingUp), signal);
      // Not only its timers: what waits for the disk or a socket has its turn too.
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
