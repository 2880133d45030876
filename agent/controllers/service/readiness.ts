import type { Pod } from "../../api/core.ts";
import { boardOf, isTerminating } from "../../api/pods.ts";
import type { Cause } from "../../execution/actions.ts";
import { type Policy, permitsHarm, type Verdict } from "../../judgement/verdict.ts";
import { isReady } from "./eligible.ts";

/** What is known of the boards that fell silent, as far as it concerns the pods of a service. */
export interface Silence {
  readonly policy: Policy;
  /** Why nothing harmful may rest on a verdict now; undefined: it may. */
  readonly held: string | undefined;
  /** Boards whose Ready condition is Unknown, with what is held to be true of them; undefined: nobody judges them here. */
  readonly boards: ReadonlyMap<string, Verdict | undefined>;
}

export interface Readiness {
  /** By uid: the ready pods, and those whose endpoint stays ready because nobody knows better. */
  readonly ready: ReadonlySet<string>;
  /** Some pod is among them that is not ready. */
  readonly isHeld: boolean;
  /** Of the first endpoint that was ready and is not any longer because its board is silent. */
  readonly cause: Cause | undefined;
}

/**
 * Which pods count as ready (judgement, first section). When a board falls silent its pods are marked not ready: what
 * follows for an endpoint that was ready is our verdict's doing, and waits until the verdict permits it. A pod that is on
 * its way out, and one whose board speaks for itself, is what it says.
 *
 * `wasReady`: the uids of the pods whose endpoints are ready as they are written now.
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
