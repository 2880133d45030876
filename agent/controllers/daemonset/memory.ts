import type { Instant } from "../../base/clock.ts";
import { type Expectations, nothingExpected } from "../expectations.ts";
import type { Readiness } from "./availability.ts";
import type { FailedBackoffs } from "./failed-pods.ts";
import type { Pass } from "./pass.ts";
import type { StatusFingerprint } from "./status-fingerprint.ts";

/** What is remembered of a set, for a term. Losing it costs patience: failed pods are replaced at once, readiness anew. */
export interface SetMemory {
  /** The set that it is about: one that was made anew under the same name begins anew. */
  readonly uid: string | undefined;
  readonly expected: Expectations;
  /** undefined: its pods were not looked at yet. */
  readonly readiness: Readiness | undefined;
  readonly backoffs: FailedBackoffs;
  /** When the API said that the namespace is on its way out: nothing can be made in it. */
  readonly closedAt: Instant | undefined;
  /** Keys of pods that were written between the read that condemned them and their deletion. */
  readonly overtaken: ReadonlySet<string>;
  /** How often in a row the API refused what this set needs, for good as it seemed. */
  readonly refusals: number;
  /** What the last pass that came to its end found. */
  readonly looked: StatusFingerprint | undefined;
  /** Where a pass stands between two rounds of its writes. */
  readonly pass: Pass | undefined;
}

export const firstMemory: SetMemory = {
  uid: undefined,
  expected: nothingExpected,
  readiness: undefined,
  backoffs: new Map(),
  closedAt: undefined,
  overtaken: new Set(),
  refusals: 0,
  looked: undefined,
  pass: undefined,
};

export const memoryOf = (before: SetMemory, uid: string): SetMemory =>
  before.uid === uid ? before : { ...firstMemory, uid };
