import type { Pod } from "../api/core.ts";
import { wasAcceptedByKubelet } from "../api/pods.ts";
import { type Instant, isAfter } from "../base/clock.ts";
import type { GateFacts, Restraint } from "../decisions/grounds.ts";
import type { Cause } from "../execution/actions.ts";
import type { ValveView } from "../holds/valve-book.ts";
import { isLimited } from "../judgement/ruling.ts";
import type { Verdict } from "../judgement/verdict.ts";

export type ValveRestraint = Extract<Restraint, { readonly why: "valve" }>;

/**
 * The state of the safety valve at a given time: for acts on the pods of `namespace` or, if that is absent, for taints
 * of boards. Some of an hour's acts are kept for taints, and each namespace has a share of the others.
 */
export type ValveAt = (now: Instant, namespace?: string) => ValveNow;

/** How far the safety valve permits harmful acts now (docs/judgement.md#safety-valve). */
export interface ValveNow {
  /** Why no act is permitted, and until when if only time is needed; undefined if acts are permitted. */
  readonly shut: { readonly restraint: ValveRestraint; readonly until: Instant | undefined } | undefined;
  /** How many boards may be tainted at the same time: "half" of the site's boards, but at least one. */
  readonly boards: number | "half" | "all";
}

/** Why the valve permits no act on pods of a namespace; undefined if it permits one. */
export type ShutOn = (namespace: string | undefined) => ValveNow["shut"];

/** A valve that limits nothing: under policy `kubernetes`, or while an operator has released it. */
export const openValve: ValveNow = { shut: undefined, boards: "all" };

/** Why the valve permits no act now; undefined if it permits one. */
export function shutValve(view: ValveView, limit: number, now: Instant): ValveNow["shut"] {
  const { acts, isUnknown, of, usedByNamespace: used, opensAt } = view;
  if (opensAt !== undefined && !isAfter(opensAt, now)) return undefined;
  const count = of === "share" && used !== undefined ? used : acts;
  return { restraint: { why: "valve", of: isUnknown ? "unknown" : of, count, limit }, until: opensAt };
}

/**
 * Whether the valve limits acts on a board, which it does if they are based on our verdict and not on an operator's
 * confirmation.
 */
export const isLimitedOn = ({
  ready,
  verdict,
  confirmedBy,
}: {
  readonly ready: string | undefined;
  readonly verdict: Verdict;
  readonly confirmedBy: string | undefined;
}): boolean => ready === "Unknown" && confirmedBy === undefined && isLimited(verdict);

/** The fact that the valve is shut; empty while it admits acts. */
export const valveFact = (restraint: ValveRestraint | undefined): Pick<GateFacts, "valve"> =>
  restraint ? { valve: restraint.of } : {};

/**
 * The facts about the valve for the deletion of a pod. The deletion harms nothing if no kubelet has started the pod.
 */
export const valveFactsOn = (pod: Pod, shut: ValveNow["shut"]): Pick<GateFacts, "valve" | "newPod"> => ({
  ...valveFact(shut?.restraint),
  ...(!wasAcceptedByKubelet(pod) && { newPod: true }),
});

/** The part of a cause which says that the deletion of this pod is harmless; empty if it is not. */
export const harmlessIfNew = (pod: Pod): Pick<Cause, "isHarmless"> =>
  wasAcceptedByKubelet(pod) ? {} : { isHarmless: true };

/** The number of boards that may be tainted at the same time. */
export function maxTaintedBoards({ boards }: ValveNow, siteSize: number): number {
  if (boards === "all") return Number.POSITIVE_INFINITY;
  return boards === "half" ? Math.max(1, Math.floor(siteSize / 2)) : boards;
}
