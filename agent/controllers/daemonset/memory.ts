import type { Instant } from "../../base/clock.ts";
import { type Expectations, nothingExpected } from "../expectations.ts";
import type { Readiness } from "./availability.ts";
import type { FailedBackoffs } from "./failed-pods.ts";
import type { Pass } from "./pass.ts";
import type { StatusFingerprint } from "./status-fingerprint.ts";

/**
 * Memory of a set within a term. If it is lost, failed pods are replaced without delay and readiness is counted anew.
 */
export interface SetMemory {
  /** uid of the set; a recreated set starts over. */
  readonly uid: string | undefined;
  readonly expected: Expectations;
  /** undefined: its pods were not read yet. */
  readonly readiness: Readiness | undefined;
  readonly backoffs: FailedBackoffs;
  /** When the API reported that the namespace is terminating: nothing can be created in it. */
  readonly closedAt: Instant | undefined;
  /** Keys of pods that changed between our read and their deletion, which then met a conflict. */
  readonly overtaken: ReadonlySet<string>;
  /** Refusals by the API in a row. */
  readonly refusals: number;
  /** Fingerprint of the last completed pass. */
  readonly looked: StatusFingerprint | undefined;
  /** The pass in progress, between two rounds of writes. */
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
