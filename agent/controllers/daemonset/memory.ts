import type { Instant } from "../../base/clock.ts";
import { type Expectations, nothingExpected } from "../expectations.ts";
import type { DaemonReadiness } from "./availability.ts";
import type { FailedBackoffs } from "./failed-pods.ts";
import type { OversizedRevision } from "./oversized-revision.ts";
import type { SetPass } from "./pass.ts";
import type { StatusFingerprint } from "./status-fingerprint.ts";

/**
 * Memory of a set within a term. If it is lost, failed pods are replaced immediately, and the time for which pods have
 * been ready is measured anew.
 */
export interface SetMemory {
  /** The set's uid; a recreated set starts over. */
  readonly uid: string | undefined;
  readonly expected: Expectations;
  /** When each of the set's pods became ready; undefined if no pass has read them, or minReadySeconds is not set. */
  readonly readiness: DaemonReadiness | undefined;
  readonly backoffs: FailedBackoffs;
  /**
   * When the API last reported that the namespace is terminating, in which nothing can be created; undefined if it
   * never has.
   */
  readonly closedAt: Instant | undefined;
  /** Keys of pods whose deletion met a conflict, because they changed after we read them. */
  readonly overtaken: ReadonlySet<string>;
  /** Refusals by the API in a row. */
  readonly refusals: number;
  /** The last revision that was refused because it is too large; undefined if none was refused. */
  readonly oversized: OversizedRevision | undefined;
  /** Fingerprint of the last completed pass; undefined if there is none, or if its status write failed. */
  readonly fingerprint: StatusFingerprint | undefined;
  /** The pass in progress between two rounds of writes; undefined if there is none. */
  readonly pass: SetPass | undefined;
}

export const firstMemory: SetMemory = {
  uid: undefined,
  expected: nothingExpected,
  readiness: undefined,
  backoffs: new Map(),
  closedAt: undefined,
  overtaken: new Set(),
  refusals: 0,
  oversized: undefined,
  fingerprint: undefined,
  pass: undefined,
};

export const memoryOf = (before: SetMemory, uid: string): SetMemory =>
  before.uid === uid ? before : { ...firstMemory, uid };
