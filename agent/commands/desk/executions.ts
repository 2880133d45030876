import type { Ambient } from "../../base/ambient.ts";
import { deadline, elapsed, type Instant, type Millis, sleep } from "../../base/clock.ts";
import { sentenceOf } from "../../base/errors.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { Read } from "./checks.ts";
import { type Author, done, type Effect, refused } from "./controls.ts";
import type { Controls } from "./definitions/definition.ts";
import { type CommandOutcome, outcomeOf } from "./responses.ts";

/** The command was cancelled by another one. */
class Cancelled extends Error {
  override readonly name = "Cancelled";
}

class TimedOut extends Error {
  override readonly name = "TimedOut";
}

/** "the next process": the answer is left to the process that starts after this one. */
export type End = CommandOutcome | "the next process";

/** A running command of any kind, including reads and dry runs. */
interface UnderWay {
  readonly controller: AbortController;
  /** Stops waiting for the command, which then fails with this reason. */
  abandon(reason: Error): void;
}

/** A running command that changes something: others may have to wait for it, or may cancel it. */
interface Running {
  readonly id: string;
  readonly group: string | undefined;
  readonly isCancellable: boolean;
  readonly controller: AbortController;
}

/** Minimum interval between progress messages (docs/interfaces.md#topics). */
const progressPause: Millis = 5000;

/** How long running commands may take to end on shutdown. */
const shutdownGrace: Millis = 2000;

/** Executes commands and tracks the running ones. Publishing and persisting are up to the caller. */
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

  /** Executes a command. Never rejects: every failure is an outcome. */
  async run(command: Read, author: Author, report: (progress: CommandOutcome) => void): Promise<End> {
    const { definition, envelope, args, request } = command;
    const controller = new AbortController();
    const abandoned = Promise.withResolvers<never>();
    const underWay: UnderWay = { controller, abandon: abandoned.reject };
    this.#underWay.add(underWay);
    const { group, isCancellable } = definition;
    const dryRun = envelope.dryRun === true;
    const isTracked = definition.class !== "read" && !dryRun;
    if (isTracked) this.#running.set(envelope.id, { id: envelope.id, group, isCancellable, controller });

    const limit = deadline(this.#ambient.clock, definition.timeout(args), controller.signal, () => new TimedOut());
    const progress = this.#progress(report);
    const ended = (async () =>
      definition.perform(this.#controls, args, {
        scope: request.scope,
        author,
        dryRun,
        progress: progress.note,
        signal: limit.signal,
      }))();
    // A command that cannot be cancelled keeps its group occupied until it ends, even if it was answered before that.
    void ended
      .catch(() => undefined)
      .then((end) => {
        this.#running.delete(envelope.id);
        if (isTracked && isDone(end) && limit.signal.reason instanceof TimedOut)
          this.#ambient.log.warn("a command took effect after its time limit", {
            id: envelope.id,
            name: envelope.name,
          });
      });
    try {
      const end = await Promise.race([ended, timeoutOf(limit.signal), abandoned.promise]);
      return end === "the next process" ? end : this.#outcome(end, limit.signal, progress.last());
    } catch (error) {
      return this.#failure(error, limit.signal, progress.last(), { name: definition.name, isTracked });
    } finally {
      limit.dispose();
      this.#underWay.delete(underWay);
    }
  }

  cancel(id: string, dryRun: boolean): Effect {
    const found = this.#running.get(id);
    if (!found) return refused(409, "not-cancellable", "no such command is running");
    if (!found.isCancellable) return refused(409, "not-cancellable", "this command cannot be cancelled");
    if (!dryRun) found.controller.abort(new Cancelled("cancelled"));
    return done({ id });
  }

  /** Aborts running commands and waits a moment for them to end. */
  async end(): Promise<void> {
    this.#isStopping = true;
    const reason = new Error("the agent is stopping");
    for (const { controller } of this.#underWay) controller.abort(reason);
    const { clock } = this.#ambient;
    const begun = clock.now();
    const never = new AbortController();
    while (this.#underWay.size > 0 && elapsed(begun, clock.now()) < shutdownGrace) await sleep(clock, 20, never.signal);
    for (const { abandon } of this.#underWay) abandon(reason);
  }

  /** Remembers the latest progress, and reports it at most once per `progressPause`. */
  #progress(report: (progress: CommandOutcome) => void): {
    note(done: JsonRecord): void;
    last(): JsonRecord | undefined;
  } {
    let last: JsonRecord | undefined;
    let reportedAt: Instant = this.#ambient.clock.now();
    return {
      note: (result) => {
        last = result;
        const now = this.#ambient.clock.now();
        if (elapsed(reportedAt, now) < progressPause) return;
        reportedAt = now;
        report({ state: "running", code: 202, result });
      },
      last: () => last,
    };
  }

  /** A cancelled command may still have completed. */
  #outcome(effect: Effect, { reason }: AbortSignal, last: JsonRecord | undefined): CommandOutcome {
    if (effect.outcome === "done" || !(reason instanceof Cancelled)) return outcomeOf(effect);
    const result = effect.result ?? last;
    return { state: "cancelled", code: 499, ...(result && { result }) };
  }

  #failure(
    error: unknown,
    { reason }: AbortSignal,
    last: JsonRecord | undefined,
    { name, isTracked }: { readonly name: string; readonly isTracked: boolean },
  ): CommandOutcome {
    const result = last && { result: last };
    if (reason instanceof Cancelled) return { state: "cancelled", code: 499, ...result };
    if (this.#isStopping)
      return { state: "failed", code: 500, error: "interrupted", message: "the agent is stopping", ...result };
    if (reason instanceof TimedOut) {
      return {
        state: "failed",
        code: 504,
        error: "timeout",
        message: isTracked ? mayFollow : "the command exceeded its time limit",
        ...result,
      };
    }
    this.#ambient.log.error("a command failed", {
      name,
      error,
      stack: error instanceof Error ? error.stack : undefined,
    });
    return { state: "failed", code: 500, error: "internal", message: sentenceOf(error).slice(0, 500), ...result };
  }
}

/** Nothing more is sent for the command, but requests that were already sent cannot be recalled. */
const mayFollow = "the command exceeded its time limit; requests that it had sent by then may still take effect";

const isDone = (end: Effect | "the next process" | undefined): boolean =>
  typeof end === "object" && end.outcome === "done";

/** Rejects only on timeout, because a cancelled command is still awaited: its result says how far it got. */
function timeoutOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => signal.reason instanceof TimedOut && reject(signal.reason), { once: true });
  });
}
