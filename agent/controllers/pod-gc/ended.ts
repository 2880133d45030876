import type { Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { isKeptByFinalizers } from "../../api/pods.ts";
import type { Steps } from "../../base/steps.ts";
import { inTextOrder } from "../../base/text/text-order.ts";

/** The fields of a terminated pod needed for sorting, because thousands of whole pods would fill the heap. */
interface Ended {
  readonly key: string;
  readonly name: string;
  readonly isEvicted: boolean;
  readonly created: string;
}

export interface EndedLimits {
  /** Number of terminated pods that stay. */
  readonly threshold: number;
  /** Maximum number of keys returned, and of keys held during the search. */
  readonly most: number;
}

/**
 * Keys of the terminated pods to delete first: pods evicted by a kubelet, because their owner has replaced them long
 * ago; then the oldest; then by name (docs/kubernetes-rules.md#pod-gc). Creation times come from one server and are
 * compared as strings. Pods that only finalizers keep are counted and have their place in this order, but are not
 * returned. `ended` is called again to find their places: a tenant may leave any number of such pods, so none is kept
 * in memory.
 */
export function* podsToCollect(ended: () => Iterable<Pod>, { threshold, most }: EndedLimits): Steps<readonly string[]> {
  const first: Ended[] = [];
  let [deletable, kept] = [0, 0];
  for (const pod of ended()) {
    yield;
    if (isKeptByFinalizers(pod)) {
      kept++;
      continue;
    }
    deletable++;
    const one = endedOf(pod);
    first.splice(placeOf(one, first), 0, one);
    if (first.length > most) first.pop();
  }
  const keptBefore = kept > 0 ? yield* countKeptBefore(first, ended()) : [];
  // Pods may appear and disappear between the two readings, so the lower count is used: then no pod is deleted that
  // would have stayed.
  const excess = deletable + Math.min(kept, sum(keptBefore)) - threshold;
  const keys: string[] = [];
  let keptAhead = 0;
  for (const [index, { key }] of first.entries()) {
    keptAhead += keptBefore[index] ?? 0;
    if (index + keptAhead >= excess) break;
    keys.push(key);
  }
  return keys;
}

/** How many pods that only finalizers keep come right before each of `first`, in order, and after the last. */
function* countKeptBefore(first: readonly Ended[], ended: Iterable<Pod>): Steps<readonly number[]> {
  const counts = new Array<number>(first.length + 1).fill(0);
  for (const pod of ended) {
    yield;
    if (!isKeptByFinalizers(pod)) continue;
    const place = placeOf(endedOf(pod), first);
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return counts;
}

function endedOf(pod: Pod): Ended {
  const { name, creationTimestamp = "" } = pod.metadata;
  // The Z is removed, because with it "00.5Z" would sort before "00Z".
  return { key: keyOf(pod), name, isEvicted: isEvicted(pod), created: creationTimestamp.replace(/Z$/, "") };
}

/** The index at which `one` belongs in the sorted list, after its equals. */
function placeOf(one: Ended, sorted: readonly Ended[]): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = sorted[middle];
    if (other !== undefined && inOrder(other, one) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

const isEvicted = ({ status }: Pod): boolean => status?.phase === "Failed" && status.reason === "Evicted";

function inOrder(a: Ended, b: Ended): number {
  if (a.isEvicted !== b.isEvicted) return a.isEvicted ? -1 : 1;
  return inTextOrder(a.created, b.created) || inTextOrder(a.name, b.name);
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
