import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted, sleep } from "../base/clock.ts";
import { DurationSample } from "../base/duration-sample.ts";
import { dispositionOf, type HasDisposition, hintOf, sentenceOf } from "../base/errors.ts";
import type { Lane } from "../base/lanes.ts";
import type { Logger } from "../base/logger.ts";
import { Permits } from "../base/permits.ts";
import { isPostponed, patiently } from "../base/postponed.ts";
import type { Progress } from "../base/progress.ts";
import { gravest, isFatal } from "../base/reaction.ts";
import { RollingCount } from "../base/rolling-count.ts";
import { TaskGroup } from "../base/tasks.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { ApiError } from "../client/api-error.ts";
import type { Acts, Asking } from "../execution/executor.ts";
import type { Caches, PassView } from "../site/site-view.ts";
import type { Assignment } from "./assignment.ts";
import type { Controller, Decision, SiteView, Term } from "./controller.ts";
import type { ControllerStats } from "./controller-stats.ts";
import { EventMapper } from "./event-mapper.ts";
import { FailureLog } from "./failure-log.ts";
import { FairTurns } from "./fair-turns.ts";
import { Gate } from "./gate.ts";
import { KeptMemories, type MemoryStore, memoryArea } from "./memory-store.ts";
import { WorkQueue } from "./work-queue.ts";

export interface ControlLoopParts<State, Memory> {
  readonly controller: Controller<State, Memory>;
  /** In sync with the site before `run` begins. */
  readonly caches: Caches;
  readonly site: (pass: PassView) => SiteView;
  readonly executor: Acts;
  readonly assignment: Assignment;
  readonly workers: number;
  /** The lane in which its requests wait for their turn; undefined: "boards". */
  readonly lane?: Asking["lane"];
  /** Stores the memories of a controller with durable memories. */
  readonly store?: MemoryStore;
  /**
   * Of the loops that share these permits, one at a time sweeps its caches. Side by side they would keep the event loop
   * for a slice each, and decode a site's pods faster than the garbage collector frees them.
   */
  readonly sweeps?: Permits;
  /** Shares the event loop among the loops that have the same `turns`; undefined: this loop does not share. */
  readonly turns?: FairTurns;
}

/** Rounds of one pass. A controller that needs more never ends. */
const mostRounds = 10;
/** Gives the watch time to deliver another writer's change. */
const refreshDelay: Millis = 1000;

class TooManyRoundsError extends Error implements HasDisposition {
  override readonly name = "TooManyRoundsError";
  readonly disposition = "retry";
}

/**
 * The shell around a controller, for one term at a time: a few workers take keys, observe, decide and execute. A failed
 * key comes back as its error's disposition says; a fatal error ends the loop.
 */
export class ControlLoop<State, Memory> {
  readonly #ambient: Ambient;
  readonly #log: Logger;
  readonly #parts: ControlLoopParts<State, Memory>;
  readonly #kept: KeptMemories<Memory> | undefined;
  readonly #bell: WakeSignal;
  readonly #sweeps: Permits;
  readonly #turns: FairTurns;
  readonly #lane: Lane;
  readonly #gate = new Gate();
  readonly #durations = new DurationSample();
  readonly #errors: RollingCount;
  readonly #failures: FailureLog;
  /** The passes under way, each with its last progress. */
  readonly #passes = new Set<{ movedAt: Instant }>();
  #memories = new Map<string, Memory>();
  #queue: WorkQueue | undefined;
  #state: Exclude<ControllerStats["state"], "paused"> = "standby";
  #syncs = 0;
  #lastError: ControllerStats["lastError"];

  constructor(ambient: Ambient, parts: ControlLoopParts<State, Memory>) {
    const { controller, store } = parts;
    this.#ambient = ambient;
    this.#log = ambient.log.child({ controller: controller.name });
    this.#parts = parts;
    this.#bell = new WakeSignal(ambient.clock);
    this.#sweeps = parts.sweeps ?? new Permits(1);
    this.#turns = parts.turns ?? new FairTurns(ambient.clock);
    this.#lane = parts.lane ?? "boards";
    this.#errors = new RollingCount();
    this.#failures = new FailureLog(this.#log);
    if (store && controller.durable) {
      this.#kept = new KeptMemories({ store, area: memoryArea(controller.name), durable: controller.durable });
    }
  }

  get reads(): Controller<State, Memory>["reads"] {
    return this.#parts.controller.reads;
  }

  get restsOn(): Controller<State, Memory>["reads"] {
    return this.#parts.controller.restsOn ?? [];
  }

  stats(now: Instant): ControllerStats {
    return {
      name: this.#parts.controller.name,
      state: this.#gate.isShut && this.#state !== "standby" ? "paused" : this.#state,
      queue: this.#queue?.size ?? 0,
      oldestWait: this.#queue?.oldestWait(now),
      syncs: this.#syncs,
      errorsLastHour: this.#errors.total(now),
      syncP95: this.#durations.p95,
      lastError: this.#lastError,
    };
  }

  /** The controller's memory of a key in the present term. */
  memoryOf(key: string): Memory | undefined {
    return this.#memories.get(key);
  }

  /** The memories of all keys in the present term. */
  memories(): Iterable<Memory> {
    return this.#memories.values();
  }

  /** The pass under way that has not moved for longest; without one, the key that has waited longest. */
  progress(now: Instant): Progress {
    const stillest = [...this.#passes].reduce<Instant | undefined>(
      (at, { movedAt }) => (at && elapsed(at, movedAt) > 0 ? at : movedAt),
      undefined,
    );
    const waited = this.#gate.isShut ? undefined : this.#queue?.oldestWait(now);
    const at = stillest ?? (waited === undefined ? "idle" : shifted(now, -waited));
    return { name: this.#parts.controller.name, at };
  }

  /** Takes no further key until `resume`; passes under way run to their end. */
  pause(): void {
    this.#gate.shut();
  }

  /** Ends a pause and processes every key. */
  resume(): void {
    if (!this.#gate.isShut) return;
    this.#gate.open();
    this.wakeAll();
  }

  /** Processes every key once more, as when a term begins: after an outage no key waits for its next change. */
  wakeAll(): void {
    this.#bell.ring();
  }

  /**
   * Ends with the term, once every worker has returned; rejects with an error that only a restart or a person fixes.
   */
  async run(term: Term): Promise<void> {
    const { controller, caches, workers } = this.#parts;
    const { clock } = this.#ambient;
    const queue = new WorkQueue(this.#ambient);
    const waker = new EventMapper(
      { ...this.#ambient, log: this.#log },
      {
        wakes: controller.wakes,
        caches,
        queue,
        site: () => this.#parts.site({ now: clock.now(), signal: term.signal }),
        turns: this.#turns,
        lane: this.#lane,
        signal: term.signal,
      },
    );
    const group = new TaskGroup(term.signal);
    this.#queue = queue;
    this.#state = "starting";
    this.#memories = this.#kept?.load(clock.now(), this.#log) ?? new Map();
    // Remembered objects may be gone: their keys are processed too.
    for (const key of this.#memories.keys()) queue.add(key);
    const unsubscribe = waker.listen();
    try {
      group.start("sweep", (signal) => this.#sweep(waker, queue, signal));
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

  async #sweep(waker: EventMapper, queue: WorkQueue, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const key of this.#parts.controller.firstKeys ?? []) queue.add(key);
      // Without waiting if possible: keys are then processed once, and not again when the sweep reaches them.
      if (!this.#sweeps.take() && !(await this.#sweeps.acquire(signal))) return;
      let isWhole = false;
      try {
        await waker.sweep(this.#state === "starting" ? true : "again");
        isWhole = true;
      } catch (error) {
        if (isFatal(error)) throw error;
        this.#failures.say("*", error, this.#ambient.clock.now());
      } finally {
        this.#sweeps.release();
      }
      if (isWhole) {
        this.#state = "running";
        await this.#bell.wait(signal);
      } else await sleep(this.#ambient.clock, refreshDelay, signal);
    }
  }

  /** Takes its turns: keys that need no waiting would otherwise hold the event loop until the queue is empty. */
  async #work(queue: WorkQueue, term: Term, signal: AbortSignal): Promise<void> {
    while (await this.#gate.pass(signal)) {
      const key = await queue.take(signal);
      if (key === undefined) return;
      try {
        const turn = this.#turns.take(this.#lane, signal);
        if (turn && !(await turn)) return;
        if (this.#gate.isShut) queue.add(key);
        else await this.#reconcile(key, queue, term);
      } finally {
        queue.done(key);
      }
    }
  }

  async #reconcile(key: string, queue: WorkQueue, term: Term): Promise<void> {
    const { controller, assignment } = this.#parts;
    if (!assignment.owns(controller.name, key)) {
      this.#memories.delete(key);
      queue.forget(key);
      return;
    }
    const now = this.#ambient.clock.now();
    let error: unknown;
    let requeueAfter: Millis | undefined;
    const underWay = { movedAt: now };
    this.#passes.add(underWay);
    const moved = (): void => {
      underWay.movedAt = this.#ambient.clock.now();
    };
    try {
      const pass = await this.#pass(key, term, now, moved);
      requeueAfter = pass.requeueAfter;
      error = gravest(pass.errors);
    } catch (thrown) {
      error = thrown ?? new Error("pass failed with an empty error");
    } finally {
      this.#passes.delete(underWay);
    }
    this.#syncs++;
    this.#durations.add(elapsed(now, this.#ambient.clock.now()));
    if (!term.standsAt(this.#ambient.clock.now())) return;
    if (error === undefined || dispositionOf(error) === "done") {
      queue.forget(key);
      // Every decision sets the next time anew; an earlier delay may be pointless by now.
      queue.undelay(key);
    } else this.#react(key, error, queue);
    if (requeueAfter !== undefined) queue.addAfter(key, requeueAfter);
  }

  /** Observes, decides and executes, all at the same `now`. */
  async #pass(
    key: string,
    term: Term,
    now: Instant,
    moved: () => void,
  ): Promise<{ errors: readonly Error[]; requeueAfter?: Millis }> {
    const { controller, site } = this.#parts;
    const lane = this.#lane;
    const before = this.#memories.get(key) ?? controller.initialMemory;
    const { signal } = term;
    const state = await patiently(this.#ambient.clock, controller.patience, signal, (patience) =>
      controller.observe(key, site({ now, signal, patience, lane, turns: this.#turns }), before),
    );
    if (state === undefined) {
      this.#memories.delete(key);
      return { errors: this.#keep(key, undefined, now) };
    }
    moved();
    const steps = controller.deciding?.(state, before, now);
    const first = steps ? await this.#turns.run(steps, lane, signal) : controller.decide(state, before, now);
    const { decision, errors } = await this.#execute(first, before, term, now, moved);
    const { requeueAfter } = decision;
    const pass = requeueAfter === undefined ? { errors } : { errors, requeueAfter };
    // The next term decides anew about actions that this one did not get to.
    if (!term.standsAt(this.#ambient.clock.now())) return pass;
    this.#memories.set(key, decision.memory);
    return { ...pass, errors: [...errors, ...this.#keep(key, decision.memory, now)] };
  }

  /** A memory that cannot be stored neither undoes the actions nor changes when the key comes back. */
  #keep(key: string, memory: Memory | undefined, now: Instant): readonly Error[] {
    try {
      this.#kept?.save(key, memory, now);
      return [];
    } catch (error) {
      return [error instanceof Error ? error : new Error("a memory was not kept", { cause: error })];
    }
  }

  async #execute(
    first: Decision<Memory>,
    before: Memory,
    term: Term,
    now: Instant,
    moved: () => void,
  ): Promise<{ decision: Decision<Memory>; errors: readonly Error[] }> {
    const { controller, executor } = this.#parts;
    const asking = { by: controller.name, since: now, moved, patience: controller.patience, lane: this.#lane };
    const errors: Error[] = [];
    let decision = first;
    for (let round = 1; ; round++) {
      const outcomes = await executor.execute(decision.actions, term, asking);
      const failures = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error]));
      errors.push(...failures.filter((error) => !controller.remember || !isPostponed(error)));
      if (!controller.remember) {
        return { decision: failures.length === 0 ? decision : { ...decision, memory: before }, errors };
      }
      decision = controller.remember(decision, outcomes, now);
      if (decision.actions.length === 0 || !term.standsAt(this.#ambient.clock.now())) return { decision, errors };
      if (round === mostRounds) {
        errors.push(new TooManyRoundsError(`${controller.name} still asks for more after ${mostRounds} rounds`));
        return { decision, errors };
      }
    }
  }

  /** The one place that decides what an error means for its key. */
  #react(key: string, error: unknown, queue: WorkQueue): void {
    const now = this.#ambient.clock.now();
    const disposition = dispositionOf(error);
    this.#failures.say(key, error, now);
    if (disposition === "refresh") {
      queue.retry(key, refreshDelay);
      return;
    }
    this.#errors.add(now);
    this.#lastError = { message: `${key}: ${sentenceOf(error)}`, hint: hintOf(error), at: now };
    if (isFatal(error)) throw error;
    if (disposition === "drop") queue.forget(key);
    else queue.retry(key, error instanceof ApiError ? error.retryAfter : 0);
  }
}
