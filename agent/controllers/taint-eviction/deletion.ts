import type { Instant } from "../../base/clock.ts";

/** How far the deletion of a pod has come. */
export interface PodDeletion {
  /** When it was sent; undefined if it was not, or it failed. */
  readonly sentAt: Instant | undefined;
  /** Failed attempts. */
  readonly failures: number;
  /** Whether the last failure was a conflict: the API has a newer pod than the cache may show. */
  readonly metConflict: boolean;
  /**
   * Whether the caches may be too stale to justify the deletion; the next pass then reads the pod and its Node's taints
   * from the API.
   */
  readonly isDoubted: boolean;
}

/**
 * The deletion of a pod whose window begins. It goes on while the window does:
 *
 * event                                           | function    | sentAt    | failures | metConflict | isDoubted
 * ------------------------------------------------|-------------|-----------|----------|-------------|----------------
 * a window begins, or is loaded from the disk     | `notBegun`  | undefined | 0        | false       | false
 * the caches may be too stale                     | `doubted`   |           |          |             | true
 * a pass has read the pod and taints from the API | `reread`    |           |          |             | false
 * a pass sends it, or finds that the pod is gone  | `sent`      | now       |          |             |
 * the executor postpones it                       | `postponed` | undefined |          |             |
 * it fails                                        | `failed`    | undefined | + 1      | by conflict | not own taints
 *
 * An empty cell leaves the field unchanged. A sent deletion is sent again if the cache shows the pod for too long. One
 * value for all pods, because most timers never get further.
 */
export const notBegun: PodDeletion = { sentAt: undefined, failures: 0, metConflict: false, isDoubted: false };

/** Whether no attempt is on its way, and none has failed. */
export const isUntried = ({ sentAt, failures }: PodDeletion): boolean => sentAt === undefined && failures === 0;

export const doubted = (deletion: PodDeletion): PodDeletion => ({ ...deletion, isDoubted: true });

export const reread = (deletion: PodDeletion): PodDeletion => ({ ...deletion, isDoubted: false });

export const sent = (deletion: PodDeletion, now: Instant): PodDeletion => ({ ...deletion, sentAt: now });

export const postponed = (deletion: PodDeletion): PodDeletion => ({ ...deletion, sentAt: undefined });

/**
 * For a taint that is not ours, the pod and its Node's taints must be read from the API before the next attempt. The
 * deletion is marked as doubted here, because a separate pass for that would end the backoff.
 */
export const failed = (
  { failures }: PodDeletion,
  { metConflict, isOfOwnTaints }: { readonly metConflict: boolean; readonly isOfOwnTaints: boolean },
): PodDeletion => ({ sentAt: undefined, failures: failures + 1, metConflict, isDoubted: !isOfOwnTaints });
