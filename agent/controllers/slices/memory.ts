import { endpointSlices } from "../../api/resources.ts";
import { backoff } from "../../base/backoff.ts";
import type { Instant } from "../../base/clock.ts";
import type { Action, ObjectRef, Outcome } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import { type Expectations, expecting, nothingExpected } from "../expectations.ts";
import type { TriggerTimes } from "../service/trigger-time.ts";

/** What is remembered of the slices of a service from sync to sync. */
export interface SliceMemory {
  /** As far as all of it was written down: where a write failed, the next one tells of the same change. */
  readonly told: TriggerTimes | undefined;
  /** What the present decision tells of. */
  readonly telling: TriggerTimes | undefined;
  /**
   * Our writes that the cache does not show yet. Until it does nothing is concluded from it
   * (docs/kubernetes-rules.md#endpoint-slices, tracker).
   */
  readonly expected: Expectations;
  /** How often in a row the cache was behind. */
  readonly waits: number;
  /** Pods had to be left out, of the text that was told about it: how often in a row, and when to look again. */
  readonly missed: { readonly text: string; readonly times: number; readonly until: Instant } | undefined;
  /** The endpoints are shared among the zones, as the service asks for: who looks on was told so. */
  readonly isShared: boolean;
  /** Whom an Event about a refused write is about. */
  readonly about: ObjectRef | undefined;
  /** Writes of the present decision that follow once those before them went through. */
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

/** How soon to look whether the cache shows what we wrote: it usually does within moments. */
const catchUp = { first: 50, most: 2000 };

export function waitForCache(memory: SliceMemory, expected: Expectations): Decision<SliceMemory> {
  const waits = memory.waits + 1;
  return { actions: [], memory: { ...memory, expected, waits }, requeueAfter: backoff(waits, catchUp) };
}

/** The first part now, the others behind it. */
export function inParts(
  parts: readonly (readonly Action[])[],
  memory: SliceMemory,
): Pick<Decision<SliceMemory>, "actions" | "memory"> {
  const [actions = [], ...rest] = parts;
  return { actions, memory: { ...memory, parts: rest } };
}

/** After each part: the next one, or, where something failed, what `complain` has to say. */
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
