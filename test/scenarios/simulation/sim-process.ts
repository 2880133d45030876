import type { Clock, Instant, Millis, Timer } from "../../../agent/base/clock.ts";
import type { BoardClock } from "./board-clock.ts";
import type { Alarm, VirtualTime } from "./virtual-time.ts";

/** As Node's own timers: nothing comes back sooner. */
const shortest: Millis = 1;

/** After a pause, what became due and what arrived meanwhile come in one of these orders. */
export type Waking = "timers first" | "answers first";

/**
 * What dies or stands still as one: the timers it armed and the answers it waits for. Its promises need no killing:
 * nothing ever resolves them again.
 */
export class SimProcess implements Clock {
  readonly id: number;
  readonly board: string;
  readonly role: "agent" | "kubelet";
  readonly #time: VirtualTime;
  readonly #clock: BoardClock;
  readonly #alarms = new Set<Alarm>();
  #state: "runs" | "suspended" | "dead" = "runs";
  /** What could not run while it was suspended. */
  #overdue: (() => void)[] = [];
  #arrived: (() => void)[] = [];

  constructor(
    time: VirtualTime,
    parts: {
      readonly id: number;
      readonly board: string;
      readonly role: SimProcess["role"];
      readonly clock: BoardClock;
    },
  ) {
    this.#time = time;
    this.id = parts.id;
    this.board = parts.board;
    this.role = parts.role;
    this.#clock = parts.clock;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  get isSuspended(): boolean {
    return this.#state === "suspended";
  }

  /** How many timers are armed: a process that ended in good order leaves none behind. */
  get timers(): number {
    return this.#alarms.size;
  }

  now(): Instant {
    return this.#clock.now();
  }

  after(delay: Millis, run: () => void): Timer {
    if (!Number.isFinite(delay)) throw new Error(`a timer needs a finite delay, not ${delay}`);
    if (this.isDead) return { cancel: () => {} };
    let cancelled = false;
    const ring = (): void => {
      if (!cancelled) run();
    };
    const alarm = this.#time.at(this.#clock.after(Math.max(shortest, delay)), () => {
      this.#alarms.delete(alarm);
      if (this.#state === "suspended") this.#overdue.push(ring);
      else ring();
    });
    this.#alarms.add(alarm);
    return {
      cancel: () => {
        cancelled = true;
        alarm.cancel();
        this.#alarms.delete(alarm);
      },
    };
  }

  /** Something from outside reaches the process: now, when it goes on, or never. */
  deliver(take: () => void): void {
    if (this.#state === "suspended") this.#arrived.push(take);
    else if (this.#state === "runs") take();
  }

  suspend(): void {
    if (this.#state === "runs") this.#state = "suspended";
  }

  /** Everything that waited runs now, one after the other, at this one moment. */
  resume(waking: Waking): void {
    if (this.#state !== "suspended") return;
    const [timers, answers] = [this.#overdue, this.#arrived];
    this.#overdue = [];
    this.#arrived = [];
    this.#state = "runs";
    const waiting = waking === "timers first" ? [...timers, ...answers] : [...answers, ...timers];
    for (const run of waiting) this.#time.at(this.#time.now, () => this.deliver(run));
  }

  kill(): void {
    this.#state = "dead";
    for (const alarm of this.#alarms) alarm.cancel();
    this.#alarms.clear();
    this.#overdue = [];
    this.#arrived = [];
  }
}
