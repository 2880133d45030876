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

/** What a command is carried out with. */
export interface Controls {
  readonly site: SiteControls;
  readonly board: BoardControls;
  /** What the desk itself can do. */
  readonly desk: {
    /** Calls off a running command. */
    cancel(id: string, dryRun: boolean): Effect;
    /** A level goes back by itself, also after a restart. */
    setLogLevel(order: LevelOrder): Effect;
    /** Whether a URL's host is one to which diagnostics may be sent. */
    mayUploadTo(host: string): boolean;
  };
}

export interface Circumstances {
  readonly scope: Request["scope"];
  readonly author: Author;
  readonly dryRun: boolean;
  /** What was done so far: told to the fleet now and then, and with the answer if there is no better one. */
  readonly progress: (done: JsonRecord) => void;
  readonly signal: AbortSignal;
}

/** read: changes nothing. idempotent: twice is as good as once. once: begun a second time it would do more than was asked. */
export type Class = "read" | "idempotent" | "once";

export interface Definition {
  readonly name: string;
  readonly sentence: string;
  readonly scopes: readonly Request["scope"][];
  readonly class: Class;
  /** A signature is needed as soon as a trusted key is installed. */
  readonly isSigned: boolean;
  readonly args: Shape<JsonRecord>;
  /** What the shape cannot say. */
  problem(args: JsonRecord, scope: Request["scope"]): Problem | undefined;
  /** Of commands with the same word one runs at a time. */
  readonly group: string | undefined;
  readonly isCancellable: boolean;
  /** It is done when the agent has started again. */
  readonly endsWithStart: boolean;
  timeout(args: JsonRecord): Millis;
  /** "the next process": it is done when the agent has started again. */
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

/** Long enough for a write to an API server behind a bad link, with its retries. */
const usualTimeout: Millis = 60_000;

/** The desk calls `problem`, `timeout` and `perform` only with arguments that were found to be of the shape. */
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

/** A command whose part of the program does not run here. */
export const absent = (what: string): Effect => refused(404, "not-available", `${what} is not there on this board`);
