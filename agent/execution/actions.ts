import { type KubeObject, keyOf, type NewObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import { isLifecycleKey } from "../api/taints.ts";
import type { Instant } from "../base/clock.ts";
import type { HasDisposition } from "../base/errors.ts";
import type { Subject } from "../decisions/decision-record.ts";
import type { Grounds } from "../decisions/grounds.ts";

/** A reference to an object as it was read. `uid` and `resourceVersion` are preconditions of every write. */
export interface ObjectRef {
  readonly resource: Resource<KubeObject>;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  /** Undefined if the write depends only on the object's uid, not on its state. */
  readonly resourceVersion?: string;
}

export const refTo = (resource: Resource<KubeObject>, { metadata }: KubeObject): ObjectRef => ({
  resource,
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
});

/** The object's name in decision records. */
export const subjectOf = ({ resource, namespace, name, uid }: ObjectRef): Subject => ({
  kind: resource.kind,
  ...(namespace !== undefined && { namespace }),
  name,
  uid,
});

/** Namespace and name; without a namespace for cluster-scoped objects. */
export const placeOf = ({ namespace, name }: ObjectRef): { namespace?: string; name: string } =>
  namespace === undefined ? { name } : { namespace, name };

/** The same object in any version: its uid is the only precondition. */
export const anyStateOf = ({ resourceVersion: _, ...target }: ObjectRef): ObjectRef => target;

/**
 * The target of a deletion. If our verdict is its cause, only the version that was read is deleted: the request may
 * arrive long after it was sent, under another leader, and must spare an object that was written since then. Without a
 * verdict any version is deleted.
 */
export const deletionTarget = (target: ObjectRef, cause: Cause | undefined): ObjectRef =>
  cause === undefined ? anyStateOf(target) : target;

/** The verdict on a board that caused a harmful act. */
export interface Cause {
  readonly board: string;
  readonly verdict: string;
  /** The rule that permits the act, as a sentence. */
  readonly rule: string;
  /** Set if the act is harmless even if the verdict is wrong, because no kubelet has taken up the pod. */
  readonly isHarmless?: true;
  /** Set if an operator confirmed this board dead: the safety valve does not limit the act. */
  readonly isConfirmed?: true;
  /** Set if an operator's command about this board ordered the act: freezes do not hold it back. */
  readonly isOrdered?: true;
}

/**
 * Whether the safety valve limits acts with this cause. Acts ordered by an operator are not limited, nor are deletions
 * of pods that no kubelet has taken up: a tenant may bind any number of those to a lost board.
 */
export const isLimitedByValve = ({ verdict, isHarmless, isConfirmed }: Cause): boolean =>
  verdict !== "dead" && !isHarmless && !isConfirmed;

interface Common {
  /**
   * Set for harmful acts only: NoExecute taints, deletions and not-ready marks that our verdict caused
   * (docs/judgement.md#budgets).
   */
  readonly cause?: Cause;
  /** Set on the write that completes a recorded act: the facts for its record (docs/judgement.md#decision-records). */
  readonly grounds?: Grounds;
}

/** An action that a controller can decide. */
export type Action = Common &
  (
    | { readonly do: "create"; readonly resource: Resource<KubeObject>; readonly object: NewObject }
    | {
        readonly do: "patch";
        readonly target: ObjectRef;
        /**
         * merge: a JSON merge patch (RFC 7386). strategic: Kubernetes' strategic merge patch, which merges lists by
         * key.
         */
        readonly type: "merge" | "strategic";
        readonly patch: object;
        readonly subresource?: "status";
      }
    | { readonly do: "delete"; readonly target: ObjectRef; readonly gracePeriodSeconds?: number }
    | { readonly do: "evict"; readonly target: ObjectRef }
    /** Binds a Pod to a board, as a scheduler does. */
    | { readonly do: "bind"; readonly target: ObjectRef; readonly board: string }
    | {
        readonly do: "event";
        readonly about: ObjectRef;
        readonly severity: "Normal" | "Warning";
        readonly reason: string;
        readonly message: string;
      }
  );

/**
 * Whether an outage since the site was read makes the action void: it says or assumes that a board is silent, or evicts
 * a pod because the kubelet reports its board as not ready.
 */
export const dependsOnLiveWatch = ({ cause, grounds }: Action): boolean =>
  cause !== undefined || grounds?.act === "board-marked" || (grounds !== undefined && isEvictionOfLifecycle(grounds));

/**
 * The board whose freeze blocks the action; undefined if no freeze can. A freeze blocks deletions of pods, and the
 * taints that lead to them, if they follow from our verdict or a kubelet's report. It never blocks an operator's order.
 */
export function boardToFreeze(action: Action): string | undefined {
  const isTaint = action.do === "patch" && action.target.resource.kind === "Node";
  if (!isTaint && !isRemoval(action)) return undefined;
  const { cause, grounds } = action;
  if (cause !== undefined) return cause.isOrdered ? undefined : cause.board;
  if (grounds === undefined) return undefined;
  return grounds.act === "board-tainted" || isEvictionOfLifecycle(grounds) ? grounds.board : undefined;
}

/** Whether the action removes its object. */
export const isRemoval = (action: Action): boolean => action.do === "delete" || action.do === "evict";

/** Whether a pod is evicted because of nothing but our own taints. */
export const isEvictionOfLifecycle = ({ act, because }: Grounds): boolean =>
  act === "pod-evicted" && because.kind === "taints" && because.taints.every(isLifecycleKey);

/**
 * The action was not sent, because of an outage or the return of its board after the site was observed: the decision may
 * no longer stand.
 */
export class OutdatedError extends Error implements HasDisposition {
  override readonly name = "OutdatedError";
  readonly disposition = "refresh";
}

export type EventAction = Extract<Action, { readonly do: "event" }>;

/** Whether a write failed because the object changed after it was read. */
export const isConflict = (error: Error): boolean => isFor(error, "Conflict");

/** Whether a write was refused because its object is too large. */
export const isOversized = (error: Error): boolean => isFor(error, "RequestEntityTooLarge");

const isFor = (error: Error, reason: string): boolean => "reason" in error && error.reason === reason;

/** The keys of a resource's objects whose write failed with a conflict. */
export const overtakenBy = (outcomes: readonly Outcome[], resource: Resource<KubeObject>): ReadonlySet<string> =>
  new Set(
    outcomes.flatMap(({ action, ...outcome }) =>
      "target" in action && action.target.resource === resource && !outcome.ok && isConflict(outcome.error)
        ? [keyOf({ metadata: placeOf(action.target) })]
        : [],
    ),
  );

/**
 * The result of an action. `at`: when the result was known; undefined if the action was not sent. `object`: name, uid
 * and resourceVersion of the written object, for a later write of the same pass. `wasUncertain`: an earlier attempt of
 * the same write was answered by a server error, after which it may have taken effect.
 */
export type Outcome = { readonly action: Action; readonly at?: Instant } & (
  | { readonly ok: true; readonly object?: KubeObject }
  | { readonly ok: false; readonly error: Error; readonly wasUncertain?: boolean }
);
