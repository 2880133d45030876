import type { Ambient } from "../../base/ambient.ts";
import { deadline, elapsed, type Instant, type Millis, sleep } from "../../base/clock.ts";
import { sentenceOf } from "../../base/errors.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { Read } from "./checks.ts";
import { type Author, done, type Effect, refused } from "./controls.ts";
import type { Controls } from "./definition.ts";
import { type Outcome, outcomeOf } from "./responses.ts";

/** Somebody called the command off. */
class Cancelled extends Error {
  override readonly name = "Cancelled";
}

class TimedOut extends Error {
  override readonly name = "TimedOut";
}

/** "the next process": the answer is not ours to give. */
export type End = Outcome | "the next process";

/** Reads and rehearsals too. */
interface UnderWay {
  readonly controller: AbortController;
  /** Nobody waits for it any longer. */
  abandon(reason: Error): void;
}

interface Running {
  readonly id: string;
  readonly group: string | undefined;
  readonly isCancellable: boolean;
  readonly controller: AbortController;
}

/** Progress is told no more often (docs/interfaces.md#topics). */
const progressPause: Millis = 5000;

/** How long commands that are under way may take to end when the agent ends. */
const partingTime: Millis = 2000;

/** The commands that are being carried out. What is said about them, and written down, is the desk's. */
export class Executions {
  readonly #ambient: Ambient;
  readonly #controls: Controls;
  readonly #running = new Map<string, Running>();
  readonly #underWay = new Set<UnderWay>();
  #isStopping = false;

  constructor(ambient: Ambient, controls: Controls) {
    this.#ambient = ambient;
    this.#controls = controls;
  }

  get running(): readonly { readonly id: string; readonly group: string | undefined }[] {
    return [...this.#running.values()];
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  has(id: string): boolean {
    return this.#running.has(id);
  }

  /** Carries a command out. Never rejects: whatever happens is an outcome. */
  async run(command: Read, author: Author, tell: (progress: Outcome) => void): Promise<End> {
    const { definition, envelope, args, request } = command;
    const controller = new AbortController();
    const abandoned = Promise.withResolvers<never>();
    const underWay: UnderWay = { controller, abandon: abandoned.reject };
    this.#underWay.add(underWay);
    const { group, isCancellable } = definition;
    const dryRun = envelope.dryRun === true;
    const isTracked = definition.class !== "read" && !dryRun;
    if (isTracked) this.#running.set(envelope.id, { id: envelope.id, group, isCancellable, controller });

    const over = deadline(this.#ambient.clock, definition.timeout(args), controller.signal, () => new TimedOut());
    const progress = this.#progress(tell);
    const ended = (async () =>
      definition.perform(this.#controls, args, {
        scope: request.scope,
        author,
        dryRun,
        progress: progress.note,
        signal: over.signal,
      }))();
    // What cannot be called off keeps its group until it has ended, whatever was answered in the meantime.
    void ended.catch(() => undefined).then(() => this.#running.delete(envelope.id));
    try {
      const end = await Promise.race([ended, timeOf(over.signal), abandoned.promise]);
      return end === "the next process" ? end : this.#outcome(end, over.signal, progress.last());
    } catch (error) {
      return this.#failure(error, over.signal, progress.last(), definition.name);
    } finally {
      over.dispose();
      this.#underWay.delete(underWay);
    }
  }

  /** Calls a running command off. */
  cancel(id: string, dryRun: boolean): Effect {
    const found = this.#running.get(id);
    if (!found) return refused(409, "not-cancellable", "no such command is running");
    if (!found.isCancellable) return refused(409, "not-cancellable", "this command cannot be called off");
    if (!dryRun) found.controller.abort(new Cancelled("called off"));
    return done({ id });
  }

  /** Ends what can be ended, and gives the rest a moment. */
  async end(): Promise<void> {
    this.#isStopping = true;
    const reason = new Error("the agent ends");
    for (const { controller } of this.#underWay) controller.abort(reason);
    const { clock } = this.#ambient;
    const begun = clock.now();
    const never = new AbortController();
    while (this.#underWay.size > 0 && elapsed(begun, clock.now()) < partingTime) await sleep(clock, 20, never.signal);
    for (const { abandon } of this.#underWay) abandon(reason);
  }

  #progress(tell: (progress: Outcome) => void): { note(done: JsonRecord): void; last(): JsonRecord | undefined } {
    let [last, told]: [JsonRecord | undefined, Instant | undefined] = [undefined, this.#ambient.clock.now()];
    return {
      note: (result) => {
        last = result;
        const now = this.#ambient.clock.now();
        if (told && elapsed(told, now) < progressPause) return;
        told = now;
        tell({ state: "running", code: 202, result });
      },
      last: () => last,
    };
  }

  /** A command that was called off may still have come to its end. */
  #outcome(effect: Effect, { reason }: AbortSignal, last: JsonRecord | undefined): Outcome {
    if (effect.outcome === "done" || !(reason instanceof Cancelled)) return outcomeOf(effect);
    const result = effect.result ?? last;
    return { state: "cancelled", code: 499, ...(result && { result }) };
  }

  #failure(error: unknown, { reason }: AbortSignal, last: JsonRecord | undefined, name: string): Outcome {
    const result = last && { result: last };
    if (reason instanceof Cancelled) return { state: "cancelled", code: 499, ...result };
    if (this.#isStopping)
      return { state: "failed", code: 500, error: "interrupted", message: "the agent ends", ...result };
    if (reason instanceof TimedOut) {
      return { state: "failed", code: 504, error: "timeout", message: "it took longer than it may", ...result };
    }
    this.#ambient.log.error("a command failed", {
      name,
      error,
      stack: error instanceof Error ? error.stack : undefined,
    });
    return { state: "failed", code: 500, error: "internal", message: sentenceOf(error).slice(0, 500), ...result };
  }
}

/** Rejects when the time is over. Who was called off is waited for: it knows how far it came. */
function timeOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => signal.reason instanceof TimedOut && reject(signal.reason), { once: true });
  });
}
