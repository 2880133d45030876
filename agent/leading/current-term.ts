import type { Clock, Instant } from "../base/clock.ts";
import type { SiteMemory } from "../controllers/node-lifecycle/memory.ts";
import type { TimerCounts } from "../controllers/taint-eviction/timer.ts";
import type { Term } from "../execution/fence.ts";
import { type Holds, isPaused } from "../holds/holds.ts";
import type { Loop, TermLoops } from "./control-loops.ts";
import type { LeavingPods } from "./leaving-pods.ts";

/**
 * The control loops of the current term; none while another board leads. TermWork begins and ends the term. Other parts
 * only read this object or enqueue keys in its loops, so they need not load the controllers.
 */
export class CurrentTerm {
  readonly #clock: Clock;
  readonly #statusChanged: () => void;
  #term: Term | undefined;
  #running: TermLoops | undefined;

  /** `statusChanged` is called after each change that must appear in the status file immediately. */
  constructor(clock: Clock, statusChanged: () => void) {
    this.#clock = clock;
    this.#statusChanged = statusChanged;
  }

  begin(term: Term, running: TermLoops): void {
    this.#term = term;
    this.#running = running;
  }

  end(): void {
    this.#term = undefined;
    this.#running = undefined;
  }

  /** The current term; undefined if another board leads. All work writes only while the term is valid. */
  get term(): Term | undefined {
    return this.#term;
  }

  /** The control loops; empty if another board leads. */
  get loops(): readonly Loop[] {
    return this.#running?.loops ?? [];
  }

  /** The control loops that only decide by another policy; empty if there are none. */
  get comparedLoops(): readonly Loop[] {
    return this.#running?.compared?.loops ?? [];
  }

  /** Whether this board's controllers are running. */
  get isActing(): boolean {
    return this.loops.length > 0;
  }

  /**
   * The node lifecycle controller's memory; undefined if that controller is turned off or has not started, or if
   * another board leads.
   */
  get site(): SiteMemory | undefined {
    return this.#running?.judgeMemory?.();
  }

  /** The boards of the site except this one; empty if `site` is undefined. */
  otherBoards(own: string | undefined): readonly string[] {
    return [...(this.site?.boards.keys() ?? [])].filter((board) => board !== own);
  }

  /** Like `site`, but "no judge" if the node lifecycle controller is turned off or another board leads. */
  judgeMemory(): SiteMemory | "no judge" | undefined {
    return this.#running?.judgeMemory === undefined ? "no judge" : this.#running.judgeMemory();
  }

  /** Like `judgeMemory`, for the policy that is only compared (`judgement.compare`); "no judge" if none is. */
  comparedMemory(): SiteMemory | "no judge" | undefined {
    const { compared } = this.#running ?? {};
    return compared === undefined ? "no judge" : compared.judgeMemory();
  }

  /** Counts of the eviction timers; undefined if taint eviction is turned off, or if another board leads. */
  timers(now: Instant): TimerCounts | undefined {
    return this.#running?.timers?.(now);
  }

  /** Counts the pods of these boards that have an eviction timer; empty as long as no pod can be evicted. */
  podsAwaitingEviction(boards: ReadonlySet<string>): ReadonlyMap<string, LeavingPods> {
    return this.#running?.leaving?.(boards) ?? new Map();
  }

  /** Processes every key of every loop again. */
  wakeAll(): void {
    for (const loop of [...this.loops, ...this.comparedLoops]) loop.wakeAll();
    this.#statusChanged();
  }

  /** Pauses the loops that an operator paused, and resumes the others. */
  obeyPauses(holds: Pick<Holds, "pauses">): void {
    const now = this.#clock.now();
    for (const loop of this.loops) {
      if (isPaused(holds, loop.name, now)) loop.pause();
      else loop.resume();
    }
  }

  /** Applies changed holds: pauses and resumes loops, and processes every key again. */
  holdsChanged(holds: Holds): void {
    this.obeyPauses(holds);
    this.wakeAll();
  }
}
