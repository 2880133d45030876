import type { Ambient } from "../../../agent/base/ambient.ts";
import type { Millis } from "../../../agent/base/clock.ts";
import { LineLogger } from "../../../agent/base/logger.ts";
import type { Decisions } from "../../../agent/decisions/decision-book.ts";
import { type Acts, type EventSink, Executor } from "../../../agent/execution/executor.ts";
import type { Term } from "../../../agent/execution/fence.ts";
import type { WatchLimits } from "../../../agent/informer/watch-health.ts";
import { leaderOwnsAll } from "../../../agent/loop/assignment.ts";
import { ControlLoop } from "../../../agent/loop/control-loop.ts";
import type { Controller } from "../../../agent/loop/controller.ts";
import type { MemoryStore } from "../../../agent/loop/memory-store.ts";
import { CachedSiteView } from "../../../agent/loop/site-view.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import type { CaseTime } from "./case-time.ts";
import { Journal } from "./journal.ts";
import { Kubelets } from "./kubelets.ts";
import { MemoryApi, type MemoryApiDeps } from "./memory-api.ts";
import { Refusals } from "./refusals.ts";
import { SiteLink } from "./site-link.ts";

/** The parts of a control loop that are used, whatever its controller. */
export type Loop = Pick<ControlLoop<never, never>, "run" | "wakeAll">;

export interface SiteOptions {
  /** When a watch counts as stalled or interrupted; undefined: the link never fails by itself. */
  readonly limits?: WatchLimits;
  readonly events?: EventSink;
  readonly decisions?: Decisions;
  /** Called with every write, besides the journal. */
  readonly wrote?: MemoryApiDeps["wrote"];
  readonly asked?: MemoryApiDeps["asked"];
  readonly refuse?: MemoryApiDeps["refuse"];
}

/** The default of the agent's configuration. */
const inflight = 16;

/**
 * A site in memory, on a separate clock, with the agent's control loops and executor, so that a case runs the
 * controllers as they run on a board.
 */
export class Site {
  readonly clock: VirtualClock;
  readonly api: MemoryApi;
  readonly link: SiteLink | undefined;
  readonly kubelets: Kubelets;
  readonly journal: Journal;
  readonly refusals = new Refusals();
  readonly #ambient: Ambient;
  readonly executor: Executor;
  readonly #decisions: Decisions | undefined;
  readonly #failures: unknown[] = [];
  #running: readonly Promise<void>[] = [];
  #term = new AbortController();
  #number = 0;

  constructor(time: CaseTime, options: SiteOptions = {}) {
    this.clock = new VirtualClock(time.begin);
    this.#ambient = { clock: this.clock, random, log: this.#log };
    this.journal = new Journal({ clock: this.clock, time });
    this.link = options.limits && new SiteLink(this.clock, options.limits);
    this.api = new MemoryApi(this.#ambient, {
      refuse: options.refuse ?? ((write) => this.refusals.take(write)),
      wrote: options.wrote ?? ((write) => this.journal.wrote(write)),
      asked: options.asked ?? ((read) => this.journal.read(read)),
      ...(this.link && { link: this.link }),
    });
    this.kubelets = new Kubelets({ clock: this.clock, time, api: this.api });
    const events = options.events ?? { record: this.journal.recordEvent.bind(this.journal) };
    const { decisions } = options;
    this.#decisions = decisions;
    this.executor = new Executor(this.#ambient, {
      client: this.api,
      events,
      inflight,
      ...(decisions && { decisions }),
    });
  }

  /** `store`: where the loop keeps its durable memories, if it has any. */
  loopOf<State, Memory>(
    controller: Controller<State, Memory>,
    store?: MemoryStore,
    executor: Acts = this.executor,
  ): ControlLoop<State, Memory> {
    return new ControlLoop(this.#ambient, {
      controller,
      ...(store && { store }),
      workers: 1,
      caches: this.api,
      site: (pass) => new CachedSiteView({ caches: this.api, client: this.api }, pass),
      executor,
      ...(this.#decisions && { decisions: this.#decisions }),
      assignment: leaderOwnsAll,
    });
  }

  /** Starts a loop in the current term. */
  start(loop: Loop): void {
    const { signal } = this.#term;
    const term: Term = { number: this.#number, signal, standsAt: () => !signal.aborted };
    this.#running = [...this.#running, loop.run(term).catch((error: unknown) => void this.#failures.push(error))];
  }

  /** Ends the current term and its loops; another one may begin. */
  async endTerm(): Promise<void> {
    this.#term.abort(new Error("the term is over"));
    await Promise.all(this.#running);
    this.#running = [];
    this.#term = new AbortController();
    this.#number++;
  }

  /** Advances to an instant of the case. Timers due at that very instant have not fired yet. */
  async approach(atMs: Millis): Promise<void> {
    await this.clock.approach(Math.max(0, atMs - this.clock.now().mono));
    this.#check();
  }

  /** What is due now happens. */
  async settle(): Promise<void> {
    await this.clock.advance(0);
    this.#check();
  }

  /** A pass that fails for an unexpected reason is our bug, not an outcome. */
  #check(): void {
    const [failure] = this.#failures;
    if (failure !== undefined) throw failure;
  }

  get #log(): LineLogger {
    const write = (line: string): void => void this.#failures.push(new Error(line));
    return new LineLogger({ level: "error", format: "text", clock: this.clock, write });
  }
}

/** No outcome of a case depends on chance. */
const random = { next: () => 0.5, uuid: () => "00000000-0000-4000-8000-000000000000" };
