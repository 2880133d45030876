import type { EndpointSlice, Endpoints } from "../../api/core.ts";
import { endpoints as endpointsKind } from "../../api/resources.ts";
import type { Instant } from "../../base/clock.ts";
import { atOnce, type Steps } from "../../base/steps.ts";
import { type Action, type ObjectRef, type Outcome, refTo } from "../../execution/actions.ts";
import type { Decision } from "../../loop/controller.ts";
import type { Expectations } from "../expectations.ts";
import { afterPart, inParts, type SliceMemory, waitForCache } from "../slices/memory.ts";
import { recycle } from "../slices/recycle.ts";
import { partsOf, removal, sliceOwner } from "../slices/write.ts";
import { type MirroredSlices, mirror, mirroredAnnotations } from "./mirrored.ts";

export type MirrorState =
  /** The cache does not show our own writes yet. */
  | { readonly kind: "behind"; readonly expected: Expectations }
  /** Nothing is left to mirror, so the slices are deleted. */
  | { readonly kind: "left"; readonly slices: readonly EndpointSlice[] }
  | { readonly kind: "mirrored"; readonly endpoints: Endpoints; readonly slices: readonly EndpointSlice[] };

export const decide = (state: MirrorState, memory: SliceMemory, most: number): Decision<SliceMemory> =>
  atOnce(decideInSteps(state, memory, most));

/** Decides in steps, because Endpoints may have thousands of subsets. */
export function* decideInSteps(state: MirrorState, memory: SliceMemory, most: number): Steps<Decision<SliceMemory>> {
  switch (state.kind) {
    case "behind":
      return waitForCache(memory, state.expected);
    case "left":
      return { actions: state.slices.map(removal), memory };
    case "mirrored": {
      const { endpoints, slices } = state;
      const owner = sliceOwner(endpointsKind, endpoints);
      const mirrored = yield* mirror(endpoints, slices, most);
      const annotations = mirroredAnnotations(endpoints);
      const plan = recycle(mirrored.plan, owner);
      const parts = partsOf(plan, owner, { annotationsOf: () => annotations, cause: undefined });
      const next = { ...memory, expected: new Map(), waits: 0 };
      const { actions, memory: kept } = inParts(parts, next);
      return { actions: [...actions, ...complaints(refTo(endpointsKind, endpoints), mirrored, most)], memory: kept };
    }
    default:
      return state satisfies never;
  }
}

export const decideAfterWrites = (
  decision: Decision<SliceMemory>,
  outcomes: readonly Outcome[],
  now: Instant,
): Decision<SliceMemory> => afterPart(decision, outcomes, now, () => []);

function complaints(about: ObjectRef, { invalid, skipped }: MirroredSlices, most: number): readonly Action[] {
  const warn = (reason: string, message: string): Action => ({
    do: "event",
    about,
    severity: "Warning",
    reason,
    message,
  });
  const unread = `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`;
  const over = `A max of ${most} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped} addresses were skipped`;
  return [
    ...(invalid > 0 ? [warn("InvalidIPAddress", unread)] : []),
    ...(skipped > invalid ? [warn("TooManyAddressesToMirror", over)] : []),
  ];
}
