import type { Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import type { Level } from "../../base/logger.ts";
import type { BoardControls } from "./board-controls.ts";
import { type Author, type Effect, refused, type SiteControls } from "./controls.ts";
import type { Request } from "./request.ts";
import type { Problem, Shape } from "./shape.ts";

export interface LevelOrder {
  readonly level: Level;
  /** A controller or a resource; undefined: everything. */
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
    /** Sets the level for a limited time, also across restarts. */
    setLogLevel(order: LevelOrder): Effect;
    /** Whether the policy allows uploads of diagnostics to this host. */
    mayUploadTo(host: string): boolean;
  };
}

export interface Circumstances {
  readonly scope: Request["scope"];
  readonly author: Author;
  readonly dryRun: boolean;
  /**
   * Reports progress: published to the fleet at intervals, and returned with the answer when the command ends early.
   */
  readonly progress: (done: JsonRecord) => void;
  readonly signal: AbortSignal;
}

/** read: changes nothing. idempotent: may be repeated. once: repeating it would do more than was asked. */
export type Class = "read" | "idempotent" | "once";

export interface Definition {
  readonly name: string;
  readonly sentence: string;
  readonly scopes: readonly Request["scope"][];
  readonly class: Class;
  /** Requires a signature as soon as a trusted key is installed. */
  readonly isSigned: boolean;
  readonly args: Shape<JsonRecord>;
  /** Checks that the shape cannot express. */
  problem(args: JsonRecord, scope: Request["scope"]): Problem | undefined;
  /** Only one command of a group runs at a time. */
  readonly group: string | undefined;
  readonly isCancellable: boolean;
  /** The command succeeds when the agent has started again. */
  readonly endsWithStart: boolean;
  timeout(args: JsonRecord): Millis;
  /** Returns "the next process" if the command succeeds when the agent has started again. */
  perform(controls: Controls, args: JsonRecord, circumstances: Circumstances): Promise<Effect | "the next process">;
}

interface Written<A> {
  readonly name: string;
  readonly sentence: string;
  readonly scopes: readonly Request["scope"][];
  readonly class: Class;
  readonly isSigned?: boolean;
  readonly args: Shape<A>;
  readonly problem?: (args: A, scope: Request["scope"]) => Problem | undefined;
  readonly group?: string;
  readonly isCancellable?: boolean;
  readonly endsWithStart?: boolean;
  readonly timeout?: (args: A) => Millis;
  readonly perform: (
    controls: Controls,
    args: A,
    circumstances: Circumstances,
  ) => Effect | "the next process" | Promise<Effect | "the next process">;
}

/** Enough for a write to the API server over a bad link, with retries. */
const usualTimeout: Millis = 60_000;

/** The casts are safe: the desk calls `problem`, `timeout` and `perform` only with arguments that match the shape. */
export function command<A extends JsonRecord>(written: Written<A>): Definition {
  const { args, problem, timeout, perform, ...rest } = written;
  return {
    isSigned: false,
    group: undefined,
    isCancellable: false,
    endsWithStart: false,
    ...rest,
    args,
    problem: (found, scope) => problem?.(found as A, scope),
    timeout: (found) => timeout?.(found as A) ?? usualTimeout,
    perform: async (controls, found, circumstances) => await perform(controls, found as A, circumstances),
  };
}

/** The refusal of a command whose component does not run here. */
export const absent = (what: string): Effect => refused(404, "not-available", `${what} is not there on this board`);
