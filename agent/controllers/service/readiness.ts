import type { Pod } from "../../api/core.ts";
import { boardOf, isTerminating } from "../../api/pods.ts";
import type { Cause } from "../../execution/actions.ts";
import { type Policy, permitsHarm, type Verdict } from "../../judgement/verdict.ts";
import { isReady } from "./eligible.ts";

/** The silent boards of a service's pods. */
export interface Silence {
  readonly policy: Policy;
  /** Why no harmful act may be based on a verdict now; undefined: it may. */
  readonly held: string | undefined;
  /** Boards whose Ready condition is Unknown, with our verdict; undefined: no controller judges boards here. */
  readonly boards: ReadonlyMap<string, Verdict | undefined>;
}

export interface Readiness {
  /** uids of the ready pods, and of those whose endpoint is held ready because the state of their board is unknown. */
  readonly ready: ReadonlySet<string>;
  /** At least one of them is held. */
  readonly isHeld: boolean;
  /** Cause of the first endpoint that became unready because of its silent board. */
  readonly cause: Cause | undefined;
}

/**
 * The pods that count as ready (docs/judgement.md#harmful-acts). When a board falls silent its pods are marked not
 * ready. An endpoint that was ready then goes only because of our verdict, and stays until the verdict permits it. A
 * terminating pod, and a pod whose board is not silent, counts by its own status.
 *
 * `wasReady`: uids of the pods whose endpoints are stored as ready.
 */
export function readinessOf(pods: readonly Pod[], silence: Silence, wasReady: ReadonlySet<string>): Readiness {
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
        cause ??= { board, verdict: verdict?.verdict ?? "unproven", rule: verdict?.rule ?? "its Node is Unknown" };
      }
    }
  }
  return { ready, isHeld, cause };
}
