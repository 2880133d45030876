import type { Millis } from "../../../base/clock.ts";
import type { JsonRecord } from "../../../base/json.ts";
import type { LogLevel } from "../../../base/logger.ts";
import type { Schema } from "../../../base/schema.ts";
import type { ArgumentProblem } from "../arguments.ts";
import type { BoardControls } from "../board-controls.ts";
import { type Author, type Effect, refused, type SiteControls } from "../controls.ts";
import type { CommandRequest } from "../request.ts";

export interface LevelOrder {
  readonly level: LogLevel;
  /** The controller or resource whose level is set; undefined for everything. */
  readonly component: string | undefined;
  readonly ttl: Millis;
}

/** Everything a command may use while it runs. */
export interface Controls {
  readonly site: SiteControls;
  readonly board: BoardControls;
  /** Operations of the desk itself. */
  readonly desk: {
    /** Cancels a running command. */
    cancel(id: string, dryRun: boolean): Effect;
    /** Sets the level for a limited time, which continues across restarts. */
    setLogLevel(order: LevelOrder): Effect;
    /** Whether the policy allows uploads of diagnostics to this host. */
    mayUploadTo(host: string): boolean;
  };
}

export interface CommandContext {
  readonly scope: CommandRequest["scope"];
  readonly author: Author;
  readonly dryRun: boolean;
  /** Reports progress, which is published at intervals, and becomes the result of a command that ends early. */
  readonly progress: (done: JsonRecord) => void;
  readonly signal: AbortSignal;
}

/**
 * read: changes nothing. idempotent: may be repeated. once: must not be repeated, because a repetition would do more
 * than requested.
 */
export type Class = "read" | "idempotent" | "once";

export interface Definition {
  readonly name: string;
  /** The description for help texts, and for the published schema. */
  readonly sentence: string;
  readonly scopes: readonly CommandRequest["scope"][];
  readonly class: Class;
  /** The command needs a signature as soon as a trusted key is installed. */
  readonly isSigned: boolean;
  readonly args: Schema<JsonRecord>;
  /** Checks that the schema of `args` cannot express. */
  problem(args: JsonRecord, scope: CommandRequest["scope"]): ArgumentProblem | undefined;
  /** Only one command of a group runs at a time; undefined if there is no limit. */
  readonly group: string | undefined;
  readonly isCancellable: boolean;
  /** The command succeeds when the agent has restarted. */
  readonly endsWithStart: boolean;
  /** Changes the scheduling of a board, which other boards and kubectl change as well. */
  readonly isScheduling: boolean;
  timeout(args: JsonRecord): Millis;
  /** Returns "the next process" if the command succeeds when the agent has restarted. */
  perform(controls: Controls, args: JsonRecord, context: CommandContext): Promise<Effect | "the next process">;
}

interface Written<A> {
  readonly name: string;
  readonly sentence: string;
  readonly scopes: readonly CommandRequest["scope"][];
  readonly class: Class;
  readonly isSigned?: boolean;
  readonly args: Schema<A>;
  readonly problem?: (args: A, scope: CommandRequest["scope"]) => ArgumentProblem | undefined;
  readonly group?: string;
  readonly isCancellable?: boolean;
  readonly endsWithStart?: boolean;
  readonly isScheduling?: boolean;
  readonly timeout?: (args: A) => Millis;
  readonly perform: (
    controls: Controls,
    args: A,
    context: CommandContext,
  ) => Effect | "the next process" | Promise<Effect | "the next process">;
}

/** The timeout of commands without their own: enough for a write to the API server over a bad link, with retries. */
const usualTimeout: Millis = 60_000;

/**
 * The casts are safe, because the desk calls `problem`, `timeout` and `perform` only with arguments that match the
 * schema.
 */
export function command<A extends JsonRecord>(written: Written<A>): Definition {
  const { args, problem, timeout, perform, ...rest } = written;
  return {
    isSigned: false,
    group: undefined,
    isCancellable: false,
    endsWithStart: false,
    isScheduling: false,
    ...rest,
    args,
    problem: (found, scope) => problem?.(found as A, scope),
    timeout: (found) => timeout?.(found as A) ?? usualTimeout,
    perform: async (controls, found, context) => await perform(controls, found as A, context),
  };
}

/** The refusal of a command whose component this agent does not have. */
export const absent = (what: string): Effect => refused(404, "not-available", `this agent has no ${what}`);
