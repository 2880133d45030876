import { inTextOrder } from "../base/text-order.ts";

/** resourceVersions of one resource are increasing decimal numbers of any length (KEP-5504). Negative: `a` is older. */
export function compareVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return inTextOrder(a, b);
}
