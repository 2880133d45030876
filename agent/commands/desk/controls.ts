import type { Instant, Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";

/** A command's author, and the reason they gave. */
export interface Author {
  /** Such as "ops:alice", or "local:1000" for a user of this board. */
  readonly by: string;
  readonly reason: string | undefined;
}

/** A running drain of this board. */
export interface Draining extends Author {
  readonly board: string;
  /** When the time limit of the drain expires. */
  readonly until: Instant;
  readonly evicted: number;
  /** Number of pods that the drain found and that still exist; undefined before it has listed them. */
  readonly left: number | undefined;
  /** Pods whose evictions were refused in the last round: the keys of some, and the number of all. */
  readonly refused: { readonly some: readonly string[]; readonly count: number };
}

/** The target of a freeze. */
export type FreezeScope =
  | { readonly scope: "site" }
  | { readonly scope: "zone"; readonly target: string }
  | { readonly scope: "board"; readonly target: string };

/**
 * The result of a command. done: it took effect. refused: it had no effect. failed: it may have taken partial effect.
 */
export type Effect =
  | { readonly outcome: "done"; readonly result: JsonRecord }
  | {
      readonly outcome: "refused" | "failed";
      readonly code: number;
      /** Machine-readable, such as "busy". */
      readonly error: string;
      readonly message?: string;
      readonly result?: JsonRecord;
    };

export const done = (result: JsonRecord): Effect => ({ outcome: "done", result });

export const refused = (code: number, error: string, message: string, result?: JsonRecord): Effect => ({
  outcome: "refused",
  code,
  error,
  message,
  ...(result && { result }),
});

/** The current state of the election. */
export interface Standing {
  /** This board leads. */
  readonly isLeader: boolean;
  /** The board that the Lease names; undefined if it names none, or has not been read yet. */
  readonly leader: string | undefined;
  /** The number of the Lease's term; undefined if the Lease has not been read yet. */
  readonly term: number | undefined;
}

/** Counters of signed site commands, shared by all leaders of the site. `key` is the fingerprint of a signing key. */
export interface CommandCounters {
  /** The highest used counter that this board knows of; undefined if there is none. */
  highest(key: string): number | undefined;
  /** Resolves once no later leader can accept this counter or a lower one; rejects if that is not certain. */
  use(key: string, counter: number): Promise<void>;
}

/**
 * The operations on the site that commands use. With `dryRun` they check all conditions and change nothing; the result
 * says what would be done. Once `signal` has aborted, they send nothing more.
 */
export interface SiteControls {
  standing(): Standing;
  freeze(scope: FreezeScope, ttl: Millis, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  thaw(scope: FreezeScope, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  releaseValve(ttl: Millis, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  rearmValve(author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  pause(controller: string, ttl: Millis, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  resume(controller: string, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  confirmZoneDead(zone: string, ttl: Millis, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  unconfirmZoneDead(zone: string, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  confirmBoardDead(board: string, author: Author, dryRun: boolean, signal: AbortSignal): Promise<Effect>;
  stepDown(
    to: string | undefined,
    holdOff: Millis,
    author: Author,
    dryRun: boolean,
    signal: AbortSignal,
  ): Promise<Effect>;
  /** Cordons or uncordons a board; without `board`, this one. An uncordon also ends the board's drain. */
  cordon(
    board: string | undefined,
    cordoned: boolean,
    author: Author,
    dryRun: boolean,
    signal: AbortSignal,
  ): Promise<Effect>;
  drain(
    /** `gracePeriod`, in seconds, replaces that of the pods. */
    options: { readonly timeout: Millis; readonly gracePeriod?: number; readonly force: boolean },
    author: Author,
    progress: (done: JsonRecord) => void,
    signal: AbortSignal,
    dryRun?: boolean,
  ): Promise<Effect>;
  /** The drain of this board; undefined if none is running. */
  draining(): Draining | undefined;
}
