import { endpointSlices } from "../../api/resources.ts";
import { backoff } from "../../base/backoff.ts";
import type { Instant } from "../../base/clock.ts";
import type { Action, ObjectRef, Outcome } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { type Expectations, expecting, nothingExpected } from "../expectations.ts";
import type { TriggerTimes } from "../service/trigger-time.ts";

/** Memory of a service's slices between syncs. */
export interface SliceMemory {
  /** Trigger times already written; after a failed write the next one reports the same change. */
  readonly told: TriggerTimes | undefined;
  /** Trigger times of the current decision. */
  readonly telling: TriggerTimes | undefined;
  /**
   * Our writes that the cache does not show yet; until it does, no decision is based on it
   * (docs/kubernetes-rules.md#endpoint-slices).
   */
  readonly expected: Expectations;
  /** How often in a row the cache was behind. */
  readonly waits: number;
  /**
   * Pods left out: the text of the last event about them, their number of tries in a row, and the time of the next one.
   */
  readonly missed: { readonly text: string; readonly times: number; readonly until: Instant } | undefined;
  /** Whether the last sync shared the endpoints among the zones; a change emits an event. */
  readonly isShared: boolean;
  /** Subject of the Event about a refused write. */
  readonly about: ObjectRef | undefined;
  /** Writes of the current decision that wait for the success of the ones before. */
  readonly parts: readonly (readonly Action[])[];
}

export const noMemory: SliceMemory = {
  told: undefined,
  telling: undefined,
  expected: nothingExpected,
  waits: 0,
  missed: undefined,
  isShared: false,
  about: undefined,
  parts: [],
};

/** Backoff in ms for checking whether the cache shows our writes; usually it does within moments. */
const catchUp = { first: 50, most: 2000 };

export function waitForCache(memory: SliceMemory, expected: Expectations): Decision<SliceMemory> {
  const waits = memory.waits + 1;
  return { actions: [], memory: { ...memory, expected, waits }, requeueAfter: backoff(waits, catchUp) };
}

/** Returns the first part as actions and remembers the others. */
export function inParts(
  parts: readonly (readonly Action[])[],
  memory: SliceMemory,
): Pick<Decision<SliceMemory>, "actions" | "memory"> {
  const [actions = [], ...rest] = parts;
  return { actions, memory: { ...memory, parts: rest } };
}

/** After each part: the next one, or the actions of `complain` if a write failed. */
export function afterPart(
  { memory, actions: _done, ...rest }: Decision<SliceMemory>,
  outcomes: readonly Outcome[],
  now: Instant,
  complain: () => readonly Action[],
): Decision<SliceMemory> {
  const expected = expecting(memory.expected, endpointSlices, outcomes, now);
  if (!outcomes.every(({ ok }) => ok)) {
    return { ...rest, actions: complain(), memory: { ...memory, expected, telling: undefined, parts: [] } };
  }
  if (memory.parts.length > 0) return { ...rest, ...inParts(memory.parts, { ...memory, expected }) };
  return {
    ...rest,
    actions: [],
    memory: { ...memory, expected, told: memory.telling ?? memory.told, telling: undefined },
  };
}
