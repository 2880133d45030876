import { type KubeObject, keyOf, type NewObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Instant } from "../base/clock.ts";

/** One object, as we saw it. `uid` and `resourceVersion` become preconditions of every write. */
export interface ObjectRef {
  readonly resource: Resource<KubeObject>;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  /** Undefined if any state of the same object will do (a deletion decided by uid alone). */
  readonly resourceVersion?: string;
}

export const refTo = (resource: Resource<KubeObject>, { metadata }: KubeObject): ObjectRef => ({
  resource,
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
});

/** Namespace and name; without a namespace for cluster-scoped objects. */
export const placeOf = ({ namespace, name }: ObjectRef): { namespace?: string; name: string } =>
  namespace === undefined ? { name } : { namespace, name };

/** The same object in whatever state it is by now: its uid alone is the precondition. */
export const anyStateOf = ({ resourceVersion: _, ...target }: ObjectRef): ObjectRef => target;

/**
 * The target of a deletion. If our verdict caused it, the exact state that the verdict rested on: the request may
 * arrive long after it was sent, under another leader, and must spare an object that was written since then. Without a
 * verdict any state will do.
 */
export const condemned = (target: ObjectRef, cause: Cause | undefined): ObjectRef =>
  cause === undefined ? anyStateOf(target) : target;

/** Why an act is harmful, and what permits it: every act caused by our verdict about a board carries one. */
export interface Cause {
  readonly board: string;
  readonly verdict: string;
  readonly rule: string;
}

interface Common {
  /**
   * Present on harmful acts only (docs/judgement.md#budgets): NoExecute, deletions and not-ready marks that our verdict
   * caused.
   */
  readonly cause?: Cause;
}

/** All actions that a controller can ask for. */
export type Action = Common &
  (
    | { readonly do: "create"; readonly resource: Resource<KubeObject>; readonly object: NewObject }
    | {
        readonly do: "patch";
        readonly target: ObjectRef;
        /** merge: RFC 7386. strategic: Kubernetes' own, for lists that merge by key. */
        readonly type: "merge" | "strategic";
        readonly patch: object;
        readonly subresource?: "status";
      }
    | { readonly do: "delete"; readonly target: ObjectRef; readonly gracePeriodSeconds?: number }
    | { readonly do: "evict"; readonly target: ObjectRef }
    /** Assigns a Pod to its board for good, as a scheduler does. */
    | { readonly do: "bind"; readonly target: ObjectRef; readonly board: string }
    | {
        readonly do: "event";
        readonly about: ObjectRef;
        readonly severity: "Normal" | "Warning";
        readonly reason: string;
        readonly message: string;
      }
  );

export type EventAction = Extract<Action, { readonly do: "event" }>;

/** The object was written between the read behind the decision and this write. */
export const isConflict = (error: Error): boolean => "reason" in error && error.reason === "Conflict";

/** The keys of a resource's objects whose write met a newer version. */
export const overtakenBy = (outcomes: readonly Outcome[], resource: Resource<KubeObject>): ReadonlySet<string> =>
  new Set(
    outcomes.flatMap(({ action, ...outcome }) =>
      "target" in action && action.target.resource === resource && !outcome.ok && isConflict(outcome.error)
        ? [keyOf({ metadata: placeOf(action.target) })]
        : [],
    ),
  );

/**
 * The result of an action, and when it was known if the action took time. `object`: the API's answer, for a later write
 * of the same pass.
 */
export type Outcome = { readonly action: Action; readonly at?: Instant } & (
  | { readonly ok: true; readonly object?: KubeObject }
  | { readonly ok: false; readonly error: Error }
);
