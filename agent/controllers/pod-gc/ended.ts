import type { Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { isKeptByFinalizers } from "../../api/pods.ts";
import type { Steps } from "../../base/steps.ts";
import { inTextOrder } from "../../base/text/text-order.ts";

/** The fields of a terminated pod that sorting needs: thousands of whole pods would fill the heap. */
interface Ended {
  readonly key: string;
  readonly name: string;
  readonly isEvicted: boolean;
  readonly created: string;
}

export interface EndedLimits {
  /** Number of terminated pods that stay. */
  readonly threshold: number;
  /** Maximum number of keys returned, and of keys held meanwhile. */
  readonly most: number;
}

/**
 * Keys of the terminated pods to delete first: pods evicted by a kubelet, because their owner has replaced them long
 * ago; then the oldest; then by name (docs/kubernetes-rules.md#pod-gc). Creation times come from one server and are
 * compared as text. Pods that only finalizers keep do not count.
 */
export function* firstToGo(ended: Iterable<Pod>, { threshold, most }: EndedLimits): Steps<readonly string[]> {
  const first: Ended[] = [];
  let count = 0;
  for (const pod of ended) {
    yield;
    if (isKeptByFinalizers(pod)) continue;
    count++;
    insert(first, endedOf(pod));
    if (first.length > most) first.pop();
  }
  return first.slice(0, Math.max(0, count - threshold)).map(({ key }) => key);
}

function endedOf(pod: Pod): Ended {
  const { name, creationTimestamp = "" } = pod.metadata;
  // The Z is removed: with it, "00.5Z" would sort before "00Z".
  return { key: keyOf(pod), name, isEvicted: isEvicted(pod), created: creationTimestamp.replace(/Z$/, "") };
}

function insert(sorted: Ended[], one: Ended): void {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = sorted[middle];
    if (other !== undefined && inOrder(other, one) <= 0) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, one);
}

const isEvicted = ({ status }: Pod): boolean => status?.phase === "Failed" && status.reason === "Evicted";

function inOrder(a: Ended, b: Ended): number {
  if (a.isEvicted !== b.isEvicted) return a.isEvicted ? -1 : 1;
  return inTextOrder(a.created, b.created) || inTextOrder(a.name, b.name);
}
