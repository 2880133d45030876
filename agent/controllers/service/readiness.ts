import type { Pod } from "../../api/core.ts";
import { boardOf, isReady, isTerminating } from "../../api/pods.ts";
import type { Cause } from "../../execution/actions.ts";
import { type Policy, permitsHarm, type Verdict } from "../../judgement/verdict.ts";

/** The silent boards of a service's pods. */
export interface SilentBoards {
  readonly policy: Policy;
  /** Why no harmful act may be based on a verdict now; undefined if one may. */
  readonly held: string | undefined;
  /**
   * The boards whose Ready condition is Unknown, each with our verdict; undefined if this agent does not judge boards.
   */
  readonly boards: ReadonlyMap<string, Verdict | undefined>;
}

export interface Readiness {
  /** uids of the ready pods, and of those whose endpoint is held ready because the state of their board is unknown. */
  readonly ready: ReadonlySet<string>;
  /** Whether at least one endpoint is held ready. */
  readonly isHeld: boolean;
  /** The cause of the first endpoint that a silent board made unready; undefined if there is no such endpoint. */
  readonly cause: Cause | undefined;
}

/**
 * The pods that count as ready (docs/judgement.md#harmful-acts). The pods of a silent board are marked not ready. A
 * ready endpoint of such a pod is nevertheless held ready until our verdict on the board permits its removal.
 * Terminating pods, and pods of boards that are not silent, are judged by their own status.
 *
 * `wasReady`: uids of the pods whose endpoints are stored as ready.
 */
export function readinessOf(pods: readonly Pod[], silence: SilentBoards, wasReady: ReadonlySet<string>): Readiness {
  const ready = new Set<string>();
  let isHeld = false;
  let cause: Cause | undefined;
  for (const pod of pods) {
    const board = boardOf(pod);
    const { uid } = pod.metadata;
    if (isReady(pod)) {
      ready.add(uid);
    } else if (board !== undefined && silence.boards.has(board) && wasReady.has(uid) && !isTerminating(pod)) {
      const verdict = silence.boards.get(board);
      if (silence.held !== undefined || (verdict && !permitsHarm(verdict, silence.policy))) {
        ready.add(uid);
        isHeld = true;
      } else {
        cause ??= {
          board,
          verdict: verdict?.verdict ?? "unproven",
          rule: verdict?.rule ?? "the Ready condition of its Node is Unknown",
        };
      }
    }
  }
  return { ready, isHeld, cause };
}
