import { type KubeObject, keyOf, type NewObject } from "../api/meta.ts";
import type { Resource } from "../api/resources.ts";
import type { Instant } from "../base/clock.ts";

/** One object, as we saw it. `uid` and `resourceVersion` become preconditions of every write. */
export interface ObjectRef {
  readonly resource: Resource<KubeObject>;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  /** Left out where any state of the same object will do (a deletion decided by uid alone). */
  readonly resourceVersion?: string;
}

export const refTo = (resource: Resource<KubeObject>, { metadata }: KubeObject): ObjectRef => ({
  resource,
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
});

/** Without a namespace where it has none. */
export const placeOf = ({ namespace, name }: ObjectRef): { namespace?: string; name: string } =>
  namespace === undefined ? { name } : { namespace, name };

/** The same object in whatever state it is by now: its uid alone is the precondition. */
export const anyStateOf = ({ resourceVersion: _, ...target }: ObjectRef): ObjectRef => target;

/**
 * What a deletion names. Where our verdict is the cause, the very state that the verdict rested on: a request may arrive
 * long after it was sent, under another leader, and an object that was written since then lives on. Where it is another's
 * will, any state will do.
 */
export const condemned = (target: ObjectRef, cause: Cause | undefined): ObjectRef =>
  cause === undefined ? anyStateOf(target) : target;

/** Why an act is harmful, and what permits it: every act that our verdict about a board caused carries one. */
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

/** Everything a controller can ask for. */
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
    /** What a scheduler does for a Pod: says on which board it runs, for good. */
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

/** The object was written between the read that decided and this write. */
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
 * What became of an action, and when that was known, where it took any time. `object`: as the API answered, for a write that
 * follows in the same pass.
 */
export type Outcome = { readonly action: Action; readonly at?: Instant } & (
  | { readonly ok: true; readonly object?: KubeObject }
  | { readonly ok: false; readonly error: Error }
);
