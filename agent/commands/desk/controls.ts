import type { Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";

/** Who asked, and what for. `by`: "ops:alice", or "local:1000" for the operator on the board itself. */
export interface Author {
  readonly by: string;
  readonly reason: string | undefined;
}

/** What a freeze is about. */
export type Scope =
  | { readonly scope: "site" }
  | { readonly scope: "zone"; readonly target: string }
  | { readonly scope: "board"; readonly target: string };

/** done: what was effected. refused: nothing was. failed: part of it may have been. */
export type Effect =
  | { readonly outcome: "done"; readonly result: JsonRecord }
  | {
      readonly outcome: "refused" | "failed";
      readonly code: number;
      /** A word for programs, such as "busy". */
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

/** Of the election, as it is now. */
export interface Standing {
  readonly isLeader: boolean;
  readonly leader: string | undefined;
  readonly term: number | undefined;
}

/**
 * Which numbers of signed commands are used up on the site, whichever board accepted them. Keys are named by their
 * fingerprints.
 */
export interface SiteCounters {
  /** The highest one, as far as this board knows; undefined: none is. */
  highest(key: string): number | undefined;
  /** Resolves once no leader after this one accepts this number or a lower one; rejects where that is not known. */
  use(key: string, counter: number): Promise<void>;
}

/**
 * What commands do to the site. With `dryRun` every condition is looked at, nothing is changed, and the result says what
 * would be.
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
