import type { Clock, Instant, Millis, Timer } from "../../../agent/base/clock.ts";
import type { BoardClock } from "./board-clock.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** The shortest delay, as with Node's own timers. */
const shortest: Millis = 1;

/** The order of due timers and arrived data after a pause. */
export type Waking = "timers first" | "answers first";

/**
 * A unit that ends or pauses as a whole: its timers and its awaited answers. Its promises need no cleanup, because nothing
 * resolves them any more.
 */
export class SimProcess implements Clock {
  readonly id: number;
  readonly board: string;
  readonly role: "agent" | "kubelet";
  readonly #time: VirtualTime;
  readonly #clock: BoardClock;
  readonly #alarms = new Set<Timer>();
  #state: "runs" | "suspended" | "dead" = "runs";
  /** Callbacks that could not run while it was suspended. */
  #overdue: (() => void)[] = [];
  #arrived: (() => void)[] = [];
  /** How many of them are still unread since it resumed. */
  #unread = 0;

  constructor(
    time: VirtualTime,
    deps: {
      readonly id: number;
      readonly board: string;
      readonly role: SimProcess["role"];
      readonly clock: BoardClock;
    },
  ) {
    this.#time = time;
    this.id = deps.id;
    this.board = deps.board;
    this.role = deps.role;
    this.#clock = deps.clock;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  get isSuspended(): boolean {
    return this.#state === "suspended";
  }

  /** The number of armed timers: a process that ended cleanly leaves none. */
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
      this.#runOrKeep(ring, this.#overdue);
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

  /**
   * Delivers something from outside to the process: now, when it resumes, or never; but not ahead of earlier
   * deliveries.
   */
  deliver(take: () => void): void {
    if (this.#unread > 0) this.#deliverInTurn(take);
    else this.#runOrKeep(take, this.#arrived);
  }

  #deliverInTurn(take: () => void): void {
    this.#unread++;
    this.#time.at(this.#time.now, () => {
      this.#unread--;
      this.#runOrKeep(take, this.#arrived);
    });
  }

  #runOrKeep(run: () => void, kept: (() => void)[]): void {
    if (this.#state === "suspended") kept.push(run);
    else if (this.#state === "runs") run();
  }

  suspend(): void {
    if (this.#state === "runs") this.#state = "suspended";
  }

  /** Runs everything that waited, one after the other, at this moment. */
  resume(waking: Waking): void {
    if (this.#state !== "suspended") return;
    const [timers, answers] = [this.#overdue, this.#arrived];
    this.#overdue = [];
    this.#arrived = [];
    this.#state = "runs";
    const ring = (): void => {
      for (const timer of timers) this.#time.at(this.#time.now, () => this.#runOrKeep(timer, this.#overdue));
    };
    if (waking === "timers first") ring();
    for (const answer of answers) this.#deliverInTurn(answer);
    if (waking === "answers first") ring();
  }

  kill(): void {
    this.#state = "dead";
    for (const alarm of this.#alarms) alarm.cancel();
    this.#alarms.clear();
    this.#overdue = [];
    this.#arrived = [];
  }
}
