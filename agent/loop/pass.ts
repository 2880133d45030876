import type { Clock, Instant } from "../base/clock.ts";
import type { Lane } from "../base/concurrency/lanes.ts";
import type { HasDisposition } from "../base/errors.ts";
import { isPostponed, patiently } from "../base/postponed.ts";
import type { Acts } from "../execution/executor.ts";
import type { Term } from "../execution/fence.ts";
import type { Controller, Decision, SiteView } from "./controller.ts";
import type { FairTurns } from "./fair-turns.ts";
import type { PassView } from "./site-view.ts";

interface PassesDeps<State, Memory> {
  readonly controller: Controller<State, Memory>;
  readonly site: (pass: PassView) => SiteView;
  readonly executor: Acts;
  readonly turns: FairTurns;
  readonly lane: Lane;
}

/** A pass over one key. */
interface KeyPass<Memory> {
  readonly key: string;
  readonly before: Memory;
  readonly term: Term;
  readonly now: Instant;
  /** Called when the pass made progress. */
  readonly moved: () => void;
  /** Called with the error of each read of a single object that failed; the pass went on without that object. */
  readonly unread: (error: unknown) => void;
}

interface PassResult<Memory> {
  /** The last decision; undefined if there was nothing to decide on. */
  readonly decision: Decision<Memory> | undefined;
  readonly errors: readonly Error[];
}

/** Maximum number of rounds of one pass. A controller that decides more often would probably never end. */
const maxRounds = 10;

class TooManyRoundsError extends Error implements HasDisposition {
  override readonly name = "TooManyRoundsError";
  readonly disposition = "retry";
}

/** The passes of one controller: each observes, decides and executes, all at the same `now`. */
export class Passes<State, Memory> {
  readonly #clock: Clock;
  readonly #deps: PassesDeps<State, Memory>;

  constructor(clock: Clock, deps: PassesDeps<State, Memory>) {
    this.#clock = clock;
    this.#deps = deps;
  }

  async run(pass: KeyPass<Memory>): Promise<PassResult<Memory>> {
    const { controller, turns, lane } = this.#deps;
    const { before, term, now } = pass;
    const state = await this.#observe(pass);
    if (state === undefined) return { decision: undefined, errors: [] };
    pass.moved();
    const steps = controller.decideInSteps?.(state, before, now);
    const first = steps ? await turns.run(steps, lane, term.signal) : controller.decide(state, before, now);
    return await this.#execute(first, pass);
  }

  async #observe({ key, before, term, now, unread }: KeyPass<Memory>): Promise<State | undefined> {
    const { controller, site, turns, lane } = this.#deps;
    const { signal } = term;
    const failures: unknown[] = [];
    const state = await patiently(this.#clock, controller.maxWait, signal, (patience) => {
      const view = { now, signal, patience, lane, turns, unread: (error: unknown) => failures.push(error) };
      return controller.observe(key, site(view), before);
    });
    for (const error of failures) unread(error);
    return state;
  }

  /** Executes a decision, and those that the controller makes once it knows the outcomes. */
  async #execute(first: Decision<Memory>, { before, term, now, moved }: KeyPass<Memory>): Promise<PassResult<Memory>> {
    const { controller, executor, turns, lane } = this.#deps;
    const acting = { by: controller.name, since: now, moved, patience: controller.maxWait, lane };
    const errors: Error[] = [];
    let decision = first;
    for (let round = 1; ; round++) {
      const outcomes = await executor.execute(decision.actions, term, acting);
      const failures = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error]));
      errors.push(...failures.filter((error) => !controller.decideAfterWrites || !isPostponed(error)));
      if (!controller.decideAfterWrites) {
        return { decision: failures.length === 0 ? decision : { ...decision, memory: before }, errors };
      }
      const steps = controller.decideAfterWritesInSteps?.(decision, outcomes, now);
      decision = steps
        ? await turns.run(steps, lane, term.signal)
        : controller.decideAfterWrites(decision, outcomes, now);
      if (decision.actions.length === 0 || !term.standsAt(this.#clock.now())) return { decision, errors };
      if (round === maxRounds) {
        errors.push(new TooManyRoundsError(`${controller.name} is still deciding actions after ${maxRounds} rounds`));
        return { decision, errors };
      }
    }
  }
}
