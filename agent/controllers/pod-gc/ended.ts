import type { Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { inTextOrder } from "../../base/text-order.ts";

/** The fields needed for sorting, so that thousands of whole pods are not held on the heap. */
interface Ended {
  readonly key: string;
  readonly name: string;
  readonly isEvicted: boolean;
  readonly created: string;
}

/**
 * Keys of the terminated pods to delete first: pods evicted by a kubelet, because their owner has replaced them long
 * ago; then the oldest; then by name (docs/kubernetes-rules.md#pod-gc). Creation times come from one server and are
 * compared as text.
 */
export function firstToGo(ended: Iterable<Pod>, count: number): readonly string[] {
  const all: Ended[] = [];
  for (const pod of ended) {
    const { name, creationTimestamp = "" } = pod.metadata;
    // With the Z, a time with a fraction would sort before the same time without one.
    all.push({ key: keyOf(pod), name, isEvicted: isEvicted(pod), created: creationTimestamp.replace(/Z$/, "") });
  }
  return all
    .sort(inOrder)
    .slice(0, count)
    .map(({ key }) => key);
}

const isEvicted = ({ status }: Pod): boolean => status?.phase === "Failed" && status.reason === "Evicted";

function inOrder(a: Ended, b: Ended): number {
  if (a.isEvicted !== b.isEvicted) return a.isEvicted ? -1 : 1;
  return inTextOrder(a.created, b.created) || inTextOrder(a.name, b.name);
}
