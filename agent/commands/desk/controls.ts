import type { Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";

/** Author of a command and the stated reason. `by`: "ops:alice", or "local:1000" for an operator on the board. */
export interface Author {
  readonly by: string;
  readonly reason: string | undefined;
}

/** The target of a freeze. */
export type Scope =
  | { readonly scope: "site" }
  | { readonly scope: "zone"; readonly target: string }
  | { readonly scope: "board"; readonly target: string };

/** done: took effect. refused: nothing was done. failed: it may have taken partial effect. */
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
  readonly isLeader: boolean;
  readonly leader: string | undefined;
  readonly term: number | undefined;
}

/**
 * Counters of signed commands that are used up on the site, by any leader. Keys are identified by their fingerprints.
 */
export interface SiteCounters {
  /** The highest counter known to this board; undefined: none was used. */
  highest(key: string): number | undefined;
  /** Resolves once no later leader can accept this counter or a lower one; rejects if that is not certain. */
  use(key: string, counter: number): Promise<void>;
}

/**
 * What commands do to the site. With `dryRun` all conditions are checked, nothing is changed, and the result describes
 * what would be done.
 */
export interface SiteControls {
  standing(): Standing;
  freeze(scope: Scope, ttl: Millis, author: Author, dryRun: boolean): Promise<Effect>;
  thaw(scope: Scope, author: Author, dryRun: boolean): Promise<Effect>;
  pause(controller: string, ttl: Millis, author: Author, dryRun: boolean): Promise<Effect>;
  resume(controller: string, author: Author, dryRun: boolean): Promise<Effect>;
  confirmZoneDead(zone: string, ttl: Millis, author: Author, dryRun: boolean): Promise<Effect>;
  confirmBoardDead(board: string, author: Author, dryRun: boolean): Promise<Effect>;
  stepDown(to: string | undefined, holdOff: Millis, author: Author, dryRun: boolean): Promise<Effect>;
  /** `undefined`: this board. */
  cordon(board: string | undefined, cordoned: boolean, author: Author, dryRun: boolean): Promise<Effect>;
  drain(
    options: { readonly timeout: Millis; readonly gracePeriod?: number; readonly force: boolean },
    author: Author,
    progress: (done: JsonRecord) => void,
    signal: AbortSignal,
    dryRun?: boolean,
  ): Promise<Effect>;
}
