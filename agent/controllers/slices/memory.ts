import { endpointSlices } from "../../api/resources.ts";
import { backoff } from "../../base/backoff.ts";
import type { Instant } from "../../base/clock.ts";
import type { Action, ObjectRef, Outcome } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { type Expectations, expecting, nothingExpected } from "../expectations.ts";
import type { TriggerTimes } from "../service/trigger-time.ts";

/** Memory of a service's slices between syncs. */
export interface SliceMemory {
  /** Trigger times of the last successful sync; after a failed write, the next sync reports the same change. */
  readonly reported: TriggerTimes | undefined;
  /** Trigger times of the current decision, until its writes have succeeded. */
  readonly reporting: TriggerTimes | undefined;
  /**
   * Our writes that the cache does not show yet; until it does, no decision is based on it
   * (docs/kubernetes-rules.md#endpoint-slices).
   */
  readonly expected: Expectations;
  /** Number of passes in a row in which the cache did not show our writes. */
  readonly waits: number;
  /**
   * Pods left out because their Node is missing: the message of the last Event about them, the number of consecutive
   * tries, and the time of the next try; undefined if no pod is left out.
   */
  readonly missed: { readonly text: string; readonly times: number; readonly until: Instant } | undefined;
  /** Whether the last sync shared the endpoints among the zones; a change is reported as an Event. */
  readonly isShared: boolean;
  /** The service, for an Event about a refused write; undefined if it has not been synced yet. */
  readonly about: ObjectRef | undefined;
  /** Writes of the current decision that follow once the preceding ones have succeeded. */
  readonly parts: readonly (readonly Action[])[];
}

export const noMemory: SliceMemory = {
  reported: undefined,
  reporting: undefined,
  expected: nothingExpected,
  waits: 0,
  missed: undefined,
  isShared: false,
  about: undefined,
  parts: [],
};

/** Backoff in ms for checking whether the cache shows our writes. */
const catchUp = { first: 50, max: 2000 };

export function waitForCache(memory: SliceMemory, expected: Expectations): Decision<SliceMemory> {
  const waits = memory.waits + 1;
  return { actions: [], memory: { ...memory, expected, waits }, requeueAfter: backoff(waits, catchUp) };
}

/** Returns the first part as actions, and keeps the rest in memory. */
export function inParts(
  parts: readonly (readonly Action[])[],
  memory: SliceMemory,
): Pick<Decision<SliceMemory>, "actions" | "memory"> {
  const [actions = [], ...rest] = parts;
  return { actions, memory: { ...memory, parts: rest } };
}

/** Called after each part: returns the next one, or the actions of `complain` if a write failed. */
export function afterPart(
  { memory, actions: _done, ...rest }: Decision<SliceMemory>,
  outcomes: readonly Outcome[],
  now: Instant,
  complain: () => readonly Action[],
): Decision<SliceMemory> {
  const expected = expecting(memory.expected, endpointSlices, outcomes, now);
  if (!outcomes.every(({ ok }) => ok)) {
    return { ...rest, actions: complain(), memory: { ...memory, expected, reporting: undefined, parts: [] } };
  }
  if (memory.parts.length > 0) return { ...rest, ...inParts(memory.parts, { ...memory, expected }) };
  return {
    ...rest,
    actions: [],
    memory: { ...memory, expected, reported: memory.reporting ?? memory.reported, reporting: undefined },
  };
}
