import { isSameTaint, notReady, unreachable } from "../api/taints.ts";
import type { Instant } from "../base/clock.ts";
import { asRecord } from "../base/json.ts";
import { RollingCount } from "../base/time/rolling-count.ts";
import type { Action, EventAction } from "./actions.ts";

/**
 * The kinds of harmful acts. Several acts on the same pod count separately; deletions of pods that no kubelet has
 * started are not counted.
 */
export const acts = [
  /** Ready=Unknown was written for a silent board. */
  "board-marked",
  /** A board got our NoExecute taint. */
  "board-tainted",
  /** A pod was marked not ready because its board is silent. */
  "pod-marked",
  /** A pod was deleted because it does not tolerate a NoExecute taint of its board, or no longer does. */
  "pod-evicted",
  /** A pod was deleted because its board was deleted. */
  "pod-collected",
  /** A daemon pod was deleted because it is not ready on a silent board. */
  "pod-replaced",
  /** Endpoints of a service were removed, or marked not ready, because their board is silent. */
  "endpoints-withdrawn",
] as const;

export type Act = (typeof acts)[number];

export interface ActCount {
  readonly act: Act;
  readonly lastHour: number;
  /** Acts since this process began. */
  readonly total: number;
}

/** Counts the successful acts of each kind, in constant memory. */
export class ActCounts {
  readonly #counts = new Map<Act, { readonly recent: RollingCount; total: number }>();

  add(act: Act, now: Instant): void {
    const count = this.#counts.get(act) ?? { recent: new RollingCount(), total: 0 };
    count.recent.add(now);
    count.total++;
    this.#counts.set(act, count);
  }

  list(now: Instant): readonly ActCount[] {
    return acts.map((act) => {
      const count = this.#counts.get(act);
      return { act, lastHour: count?.recent.total(now) ?? 0, total: count?.total ?? 0 };
    });
  }
}

/** The kind of act that a write is; undefined if it is harmless. `by`: the controller that decided it. */
export function actOf(action: Exclude<Action, EventAction>, by: string | undefined): Act | undefined {
  switch (action.do) {
    case "delete":
    case "evict":
      if (action.target.resource.kind !== "Pod") return action.cause && "endpoints-withdrawn";
      if (by === "taint-eviction") return "pod-evicted";
      return action.cause && (by === "pod-gc" ? "pod-collected" : "pod-replaced");
    case "patch":
      return actOfPatch(action, by);
    case "create":
      return action.cause && "endpoints-withdrawn";
    case "bind":
      return undefined;
    default:
      return action satisfies never;
  }
}

function actOfPatch(
  { target, subresource, patch, cause }: Extract<Action, { do: "patch" }>,
  by: string | undefined,
): Act | undefined {
  switch (target.resource.kind) {
    case "Node":
      if (by !== "node-lifecycle") return undefined;
      if (subresource === "status") return "board-marked";
      return taintsBoard(patch) ? "board-tainted" : undefined;
    case "Pod":
      // The evicting controllers first write the reason into the pod's status; that write is part of the eviction.
      return cause && by !== "taint-eviction" && by !== "pod-gc" ? "pod-marked" : undefined;
    default:
      return cause && "endpoints-withdrawn";
  }
}

function taintsBoard(patch: object): boolean {
  const { taints } = asRecord(asRecord(patch).spec);
  return (
    Array.isArray(taints) && taints.some((taint) => isSameTaint(taint, unreachable) || isSameTaint(taint, notReady))
  );
}
