import { inTextOrder } from "../base/text/text-order.ts";

/**
 * Negative if `a` is older than `b`, zero if they are equal. Both must belong to the same resource, whose
 * resourceVersions are increasing decimal numbers of any length (KEP-5504).
 */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return inTextOrder(a, b);
}

const decimal = /^(?:0|[1-9][0-9]*)$/;

/**
 * Whether a cache with all changes up to `position` has the change made at `version`, even a change of another
 * resource, because resources in the same store share its counter. False if the two cannot be compared.
 */
export const covers = (position: string | undefined, version: string): boolean =>
  position !== undefined && decimal.test(position) && decimal.test(version) && compareVersions(position, version) >= 0;

/** The earliest of several positions; undefined if there is none, or if one is unknown or cannot be compared. */
export const earliestOf = (positions: readonly (string | undefined)[]): string | undefined =>
  positions.find((position) => position !== undefined && positions.every((other) => covers(other, position)));
