import type { Pod } from "../../api/core.ts";
import { keyOf } from "../../api/meta.ts";
import { inTextOrder } from "../../base/text-order.ts";

/** What the order depends on: of thousands of pods no more is on the heap. */
interface Ended {
  readonly key: string;
  readonly name: string;
  readonly isEvicted: boolean;
  readonly created: string;
}

/**
 * Keys of the pods that go first, of those that have run to their end: what a kubelet evicted, because its owner has
 * replaced it long ago, then the oldest, then by name (docs/kubernetes-rules.md#pod-gc). Times of creation are of one
 * server's hand and compared as text.
 */
export function firstToGo(ended: Iterable<Pod>, count: number): readonly string[] {
  const all: Ended[] = [];
  for (const pod of ended) {
    const { name, creationTimestamp = "" } = pod.metadata;
    // Without its Z a time with a fraction comes behind the one without.
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
