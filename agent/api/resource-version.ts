import { inTextOrder } from "../base/text/text-order.ts";

/**
 * Negative if `a` is older than `b`, zero if they are equal. Both must belong to the same resource, whose
 * resourceVersions are increasing decimal numbers of any length (KEP-5504).
 */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return inTextOrder(a, b);
}
