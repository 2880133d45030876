import type { Ambient } from "../base/ambient.ts";
import { elapsed, type Instant, type Millis, shifted, sleep } from "../base/clock.ts";
import { DurationSample } from "../base/duration-sample.ts";
import { dispositionOf, type HasDisposition, hintOf, sentenceOf } from "../base/errors.ts";
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
  /** In step with the site before `run` begins. */
  readonly caches: Caches;
  readonly site: (pass: PassView) => SiteView;
  readonly executor: Acts;
  readonly assignment: Assignment;
  readonly workers: number;
  /** In which its requests wait for their turn; left out: the first. */
  readonly lane?: Asking["lane"];
  /** Where a controller with durable memories keeps them. */
  readonly store?: MemoryStore;
  /**
   * Going through all that is cached is done by one loop at a time of those that share these. Side by side they would keep
   * the event loop for a slice each, and decode a site's pods faster than the heap is cleaned.
   */
  readonly sweeps?: Permits;
  /** The event loop, among the loops that share these; left out: each loop by itself. */
  readonly turns?: FairTurns;
}

/** Rounds of one pass. More is a controller that never comes to an end. */
const mostRounds = 10;
/** The watch needs a moment to bring what somebody else wrote. */
const refreshDelay: Millis = 1000;

class TooManyRoundsError extends Error implements HasDisposition {
  override readonly name = "TooManyRoundsError";
  readonly disposition = "retry";
}

/**
 * The shell around a controller, for one term at a time: keys come in, are observed, decided on and executed by a few
 * workers. A key that failed comes back as its error says; what stops the program ends the loop.
 */
export class ControlLoop<State, Memory> {
  readonly #ambient: Ambient;
  readonly #log: Logger;
  readonly #parts: ControlLoopParts<State, Memory>;
  readonly #kept: KeptMemories<Memory> | undefined;
  readonly #bell: WakeSignal;
  readonly #sweeps: Permits;
  readonly #turns: FairTurns;
  readonly #gate = new Gate();
  readonly #durations = new DurationSample();
  readonly #errors: RollingCount;
  readonly #failures: FailureLog;
  /** Those under way, each with when it moved last. */
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

  /** What the controller remembers of a key in the present term. */
  memoryOf(key: string): Memory | undefined {
    return this.#memories.get(key);
  }

  /** Of all keys in the present term. */
  memories(): Iterable<Memory> {
    return this.#memories.values();
  }

  /** Of the pass that has stood still longest; where none is under way, of the key that should long have had one. */
  progress(now: Instant): Progress {
    const stillest = [...this.#passes].reduce<Instant | undefined>(
      (at, { movedAt }) => (at && elapsed(at, movedAt) > 0 ? at : movedAt),
      undefined,
    );
    const waited = this.#gate.isShut ? undefined : this.#queue?.oldestWait(now);
    const at = stillest ?? (waited === undefined ? "idle" : shifted(now, -waited));
    return { name: this.#parts.controller.name, at };
  }

  /** No key is taken until `resume`; what is under way comes to its end. */
  pause(): void {
    this.#gate.shut();
  }

  /** Every key is looked at after a pause. */
  resume(): void {
    if (!this.#gate.isShut) return;
    this.#gate.open();
    this.wakeAll();
  }

  /** Every key is looked at once more, as when a term begins: after an outage nothing waits for its next change. */
  wakeAll(): void {
    this.#bell.ring();
  }

  /** Ends when the term does and every worker has come back, or rejects with what only a restart or a person can mend. */
  async run(term: Term): Promise<void> {
    const { controller, caches, workers, lane = "boards" } = this.#parts;
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
        lane,
        signal: term.signal,
      },
    );
    const group = new TaskGroup(term.signal);
    this.#queue = queue;
    this.#state = "starting";
    this.#memories = this.#kept?.load(clock.now(), this.#log) ?? new Map();
    // What is remembered may be of objects that are gone: their keys are asked too.
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
      // At once where it can be: a key is looked at once then, and not again when the sweep comes to it.
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

  /** Keys that wait for nothing would keep the event loop until the queue is empty. */
  async #work(queue: WorkQueue, term: Term, signal: AbortSignal): Promise<void> {
    const { lane = "boards" } = this.#parts;
    while (await this.#gate.pass(signal)) {
      const key = await queue.take(signal);
      if (key === undefined) return;
      try {
        const turn = this.#turns.take(lane, signal);
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
      // A decision says anew when to come again: what an earlier one waited for may be long over.
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
    const { controller, site, lane = "boards" } = this.#parts;
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
    // What a term did not get to do is for the next one to decide anew.
    if (!term.standsAt(this.#ambient.clock.now())) return pass;
    this.#memories.set(key, decision.memory);
    return { ...pass, errors: [...errors, ...this.#keep(key, decision.memory, now)] };
  }

  /** What was done is done, and when to come again stays as it was said, also where it cannot be written down. */
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
    const { controller, executor, lane } = this.#parts;
    const asking = { by: controller.name, since: now, moved, patience: controller.patience, lane };
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

  /** The one place that asks what an error means for its key. */
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
