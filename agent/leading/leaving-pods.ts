import { type EvictionTimer, isSent } from "../controllers/taint-eviction/timer.ts";

/** The pods of a board that tolerate its NoExecute taints only for a limited time. */
export interface LeavingPods {
  /** Pods that will be evicted. */
  readonly staying: number;
  /** Pods that were evicted but still exist, because the board's kubelet has not terminated them yet. */
  readonly evicted: number;
}

/**
 * Counts the pods of these boards that have an eviction timer, except those that stay because their eviction would gain
 * nothing; boards without any are left out.
 */
export function leavingPods(
  timers: Iterable<EvictionTimer | undefined>,
  boards: ReadonlySet<string>,
): ReadonlyMap<string, LeavingPods> {
  const found = new Map<string, LeavingPods>();
  if (boards.size === 0) return found;
  for (const timer of timers) {
    if (timer === undefined || !boards.has(timer.board)) continue;
    const isEvicted = isSent(timer);
    if (!isEvicted && timer.explained !== undefined) continue;
    const { staying, evicted } = found.get(timer.board) ?? { staying: 0, evicted: 0 };
    found.set(timer.board, { staying: staying + (isEvicted ? 0 : 1), evicted: evicted + (isEvicted ? 1 : 0) });
  }
  return found;
}
