import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, isAfter, type Millis, shifted, sleep } from "../base/clock.ts";
import type { Lane } from "../base/concurrency/lanes.ts";
import { PrioritySemaphore } from "../base/concurrency/priority-semaphore.ts";
import { TaskGroup } from "../base/concurrency/tasks.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import { dispositionOf, hintOf, sentenceOf } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { Progress } from "../base/progress.ts";
import { gravest, isFatal } from "../base/reaction.ts";
import { DurationSample } from "../base/time/duration-sample.ts";
import { RollingCount } from "../base/time/rolling-count.ts";
import { ApiError } from "../client/api-error.ts";
import { missingIn } from "../client/permissions.ts";
import type { Decisions } from "../decisions/decision-book.ts";
import type { ActingPass, Acts } from "../execution/executor.ts";
import type { Term } from "../execution/fence.ts";
import type { Assignment } from "./assignment.ts";
import type { Controller, Decision, SiteView } from "./controller.ts";
import type { ControllerStats } from "./controller-stats.ts";
import { EventMapper } from "./event-mapper.ts";
import { FailureLog } from "./failure-log.ts";
import { FairTurns } from "./fair-turns.ts";
import { Gate } from "./gate.ts";
import { KeptMemories, type MemoryStore, memoryArea } from "./memory-store.ts";
import { Passes } from "./pass.ts";
import type { Caches, PassView } from "./site-view.ts";
import { WorkQueue } from "./work-queue.ts";

export interface ControlLoopDeps<State, Memory> {
  readonly controller: Controller<State, Memory>;
  /** The caches; their owner fills them before it calls `run`. */
  readonly caches: Caches;
  readonly site: (pass: PassView) => SiteView;
  readonly executor: Acts;
  readonly assignment: Assignment;
  readonly workers: number;
  /** The lane in which the loop's requests wait for their turn; undefined for "boards". */
  readonly lane?: ActingPass["lane"];
  /**
   * The lane in which changes of the caches are mapped to keys; by default `lane`. A cache advances only once every loop
   * that reads it has mapped its changes, so no loop may map in a later lane than the others.
   */
  readonly changesLane?: Lane;
  /** Records the acts that the controller holds back; undefined if they are not recorded. */
  readonly decisions?: Pick<Decisions, "due">;
  /** Set if the executor sends nothing, for the status. */
  readonly isShadow?: boolean;
  /** Stores the memories of a controller that has durable ones; undefined if they are lost when the term ends. */
  readonly store?: MemoryStore;
  /**
   * Semaphore for resyncs: only one of the loops that share it resyncs at a time. Concurrent resyncs would
   * block the event loop longer, and decode pods faster than the garbage collector frees them.
   */
  readonly resyncs?: PrioritySemaphore;
  /**
   * The permit for passes over large keys. Among all loops that share it, only one such pass runs at a time, because
   * several would fill the heap.
   */
  readonly large?: PrioritySemaphore;
  /**
   * Shares the event loop fairly among the loops with the same `turns`; undefined if this loop does not take turns with
   * others.
   */
  readonly turns?: FairTurns;
}

/** Delay after a conflict, in which the watch can deliver the other writer's change. */
const refreshDelay: Millis = 1000;
/** How soon a large key is retried while another one is being processed. */
const largeAgain: Millis = 200;

/**
 * Runs a controller, for one term at a time: its workers take keys, observe, decide and execute. The disposition of an
 * error decides when its key is processed again; a fatal error ends the loop.
 */
export class ControlLoop<State, Memory> {
  readonly #ambient: Ambient;
  readonly #log: Logger;
  readonly #deps: ControlLoopDeps<State, Memory>;
  readonly #kept: KeptMemories<Memory> | undefined;
  readonly #bell: WakeSignal;
  readonly #resyncs: PrioritySemaphore;
  readonly #large: PrioritySemaphore;
  readonly #turns: FairTurns;
  readonly #lane: Lane;
  readonly #gate = new Gate();
  readonly #durations = new DurationSample();
  readonly #errors: RollingCount;
  readonly #failures: FailureLog;
  readonly #passes: Passes<State, Memory>;
  /** The running passes, each with the time of its last progress. */
  readonly #running = new Set<{ movedAt: Instant }>();
  #memories = new Map<string, Memory>();
  #queue: WorkQueue | undefined;
  #state: Exclude<ControllerStats["state"], "paused" | "shadow"> = "standby";
  #syncs = 0;
  #lastError: ControllerStats["lastError"];

  constructor(ambient: Ambient, deps: ControlLoopDeps<State, Memory>) {
    const { controller, store } = deps;
    this.#ambient = ambient;
    this.#log = ambient.log.child({ controller: controller.name });
    this.#deps = deps;
    this.#bell = new WakeSignal(ambient.clock);
    this.#resyncs = deps.resyncs ?? new PrioritySemaphore(1);
    this.#large = deps.large ?? new PrioritySemaphore(1);
    this.#turns = deps.turns ?? new FairTurns(ambient.clock);
    this.#lane = deps.lane ?? "boards";
    this.#passes = new Passes(ambient.clock, { ...deps, turns: this.#turns, lane: this.#lane });
    this.#errors = new RollingCount();
    this.#failures = new FailureLog(this.#log);
    if (store && controller.durable) {
      this.#kept = new KeptMemories({ store, area: memoryArea(controller.name), durable: controller.durable });
    }
  }

  get name(): string {
    return this.#deps.controller.name;
  }

  get reads(): Controller<State, Memory>["reads"] {
    return this.#deps.controller.reads;
  }

  get restsOn(): Controller<State, Memory>["reads"] {
    return this.#deps.controller.restsOn ?? [];
  }

  stats(now: Instant): ControllerStats {
    const state = this.#deps.isShadow && this.#state !== "standby" ? "shadow" : this.#state;
    return {
      name: this.name,
      state: this.#gate.isShut && state !== "standby" ? "paused" : state,
      queue: this.#queue?.size ?? 0,
      syncs: this.#syncs,
      errorsLastHour: this.#errors.total(now),
      syncP95: this.#durations.p95,
      lastError: this.#lastError,
    };
  }

  /** The controller's memory of a key in the current term; undefined if there is none. */
  memoryOf(key: string): Memory | undefined {
    return this.#memories.get(key);
  }

  /** The memories of all keys in the current term. */
  memories(): Iterable<Memory> {
    return this.#memories.values();
  }

  /**
   * The last progress of the running pass that has gone longest without any. If no pass is running, the time at which
   * the key that is taken next was added.
   */
  progress(now: Instant): Progress {
    const leastRecent = [...this.#running].reduce<Instant | undefined>(
      (at, { movedAt }) => (at && isAfter(movedAt, at) ? at : movedAt),
      undefined,
    );
    const waited = this.#gate.isShut ? undefined : this.#queue?.nextWait(now);
    const at = leastRecent ?? (waited === undefined ? "idle" : shifted(now, -waited));
    return { name: this.#deps.controller.name, at };
  }

  /** Takes no more keys until `resume`. Running passes end, but the executor sends none of their further writes. */
  pause(): void {
    this.#gate.shut();
  }

  /** Ends a pause, and processes every key again. */
  resume(): void {
    if (!this.#gate.isShut) return;
    this.#gate.open();
    this.wakeAll();
  }

  /** Processes every key again, as at the beginning of a term, for example after an outage. */
  wakeAll(): void {
    this.#bell.ring();
  }

  /**
   * Runs until the term ends and every worker has returned. Rejects with errors that only a restart or an operator can
   * fix.
   */
  async run(term: Term): Promise<void> {
    const { controller, caches, workers } = this.#deps;
    const { clock } = this.#ambient;
    const queue = new WorkQueue(this.#ambient);
    const mapper = new EventMapper(
      { ...this.#ambient, log: this.#log },
      {
        mappings: controller.mappings,
        caches,
        queue,
        site: () => this.#deps.site({ now: clock.now(), signal: term.signal }),
        turns: this.#turns,
        lane: this.#lane,
        changesLane: this.#deps.changesLane ?? this.#lane,
        signal: term.signal,
      },
    );
    const group = new TaskGroup(term.signal);
    this.#queue = queue;
    this.#state = "starting";
    this.#memories = this.#kept?.load(clock.now(), this.#log) ?? new Map();
    // Objects with a stored memory may no longer exist, in which case a resync would not find their keys.
    for (const key of this.#memories.keys()) queue.add(key);
    const unsubscribe = mapper.listen();
    try {
      group.start("resync", (signal) => this.#resync(mapper, queue, signal));
      for (let worker = 1; worker <= workers; worker++) {
        group.start(`worker ${worker}`, (signal) => this.#work(queue, term, signal));
      }
      await group.join();
    } finally {
      unsubscribe();
      queue.shutDown();
      this.#queue = undefined;
      this.#memories = new Map();
      this.#state = "standby";
    }
  }

  /** Processes every key at the beginning of the term, and again after each `wakeAll`. */
  async #resync(mapper: EventMapper, queue: WorkQueue, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const key of this.#deps.controller.firstKeys ?? []) queue.add(key);
      // Avoids an await if possible, because workers would process keys while the resync waits, and process them again
      // once it has added them.
      if (!this.#resyncs.take() && !(await this.#resyncs.acquire(signal))) return;
      let isWhole = false;
      try {
        await mapper.resync(this.#state === "starting" ? "first" : "again");
        isWhole = true;
      } catch (error) {
        if (isFatal(error)) throw error;
        this.#failures.log("*", error, this.#ambient.clock.now());
      } finally {
        this.#resyncs.release();
      }
      if (isWhole) {
        this.#state = "running";
        await this.#bell.wait(signal);
      } else await sleep(this.#ambient.clock, refreshDelay, signal);
    }
  }

  /**
   * Processes keys. Waits for a turn before each, because otherwise keys that are processed without an await would
   * block the event loop.
   */
  async #work(queue: WorkQueue, term: Term, signal: AbortSignal): Promise<void> {
    while (await this.#gate.pass(signal)) {
      const key = await queue.take(signal);
      if (key === undefined) return;
      try {
        const turn = this.#turns.take(this.#lane, signal);
        if (turn && !(await turn)) return;
        if (this.#gate.isShut) queue.add(key);
        else if (!this.#isLarge(key, term)) await this.#reconcile(key, queue, term);
        // Requeued instead of waiting here, because otherwise large keys would occupy all workers.
        else if (!this.#large.take(this.#lane)) queue.addAfter(key, largeAgain);
        else await this.#reconcile(key, queue, term).finally(() => this.#large.release(this.#lane));
      } finally {
        queue.done(key);
      }
    }
  }

  #isLarge(key: string, { signal }: Term): boolean {
    const { controller, site } = this.#deps;
    if (controller.isLarge === undefined) return false;
    const now = this.#ambient.clock.now();
    return controller.isLarge(key, site({ now, signal, lane: this.#lane, turns: this.#turns }));
  }

  /** Makes a pass over a key, and decides when the next one is due. */
  async #reconcile(key: string, queue: WorkQueue, term: Term): Promise<void> {
    const { controller, assignment } = this.#deps;
    if (!assignment.owns(controller.name, key)) {
      this.#memories.delete(key);
      queue.forget(key);
      return;
    }
    const now = this.#ambient.clock.now();
    let error: unknown;
    let requeueAfter: Millis | undefined;
    const running = { movedAt: now };
    this.#running.add(running);
    try {
      const { decision, errors } = await this.#passes.run({
        key,
        before: this.#memories.get(key) ?? controller.initialMemory,
        term,
        now,
        moved: () => {
          running.movedAt = this.#ambient.clock.now();
        },
        unread: (error) => this.#report(key, error, now),
      });
      requeueAfter = decision?.requeueAfter;
      const unstored = this.#remember(key, decision, term, now);
      error = gravest([...errors, ...unstored]);
    } catch (thrown) {
      error = thrown ?? new Error("pass failed with an empty error");
    } finally {
      this.#running.delete(running);
    }
    this.#syncs++;
    this.#durations.add(elapsed(now, this.#ambient.clock.now()));
    if (!term.standsAt(this.#ambient.clock.now())) return;
    if (error === undefined || dispositionOf(error) === "done") {
      queue.forget(key);
      // A decision sets the time of the next pass itself, so an earlier delay no longer applies.
      queue.cancelDelay(key);
    } else this.#react(key, error, queue);
    if (requeueAfter !== undefined) queue.addAfter(key, requeueAfter);
  }

  /**
   * Keeps the memory that a pass decided on. A failure to store it is only reported, because the actions are already
   * done.
   */
  #remember(key: string, decision: Decision<Memory> | undefined, term: Term, now: Instant): readonly Error[] {
    // The memory may include actions that were not sent. The next term decides again.
    if (decision !== undefined && !term.standsAt(this.#ambient.clock.now())) return [];
    if (decision === undefined) this.#memories.delete(key);
    else this.#memories.set(key, decision.memory);
    this.#deps.decisions?.due({ by: this.name, key, term: term.number }, decision?.due ?? []);
    try {
      this.#kept?.save(key, decision?.memory, now);
      return [];
    } catch (error) {
      return [error instanceof Error ? error : new Error("the state of a controller was not stored", { cause: error })];
    }
  }

  /** Decides when a failed key is processed again, by the disposition of its error. */
  #react(key: string, error: unknown, queue: WorkQueue): void {
    const now = this.#ambient.clock.now();
    const disposition = dispositionOf(error);
    if (disposition === "refresh") {
      this.#failures.log(key, error, now);
      queue.retry(key, refreshDelay);
      return;
    }
    this.#report(key, error, now);
    if (isFatal(error)) throw error;
    if (disposition === "drop") queue.forget(key);
    else queue.retry(key, error instanceof ApiError ? error.retryAfter : 0);
  }

  #report(key: string, error: unknown, now: Instant): void {
    this.#failures.log(key, error, now);
    this.#errors.add(now);
    const message = `${key}: ${sentenceOf(error)}`;
    this.#lastError = { message, hint: hintOf(error), at: now, missing: missingIn(error) };
  }
}
