import type { KubeObject, NewObject } from "../api/meta.ts";
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

/** The same object in whatever state it is by now: its uid alone is the precondition. */
export const anyStateOf = ({ resourceVersion: _, ...target }: ObjectRef): ObjectRef => target;

/** Why an act is harmful, and what permits it: every act that our verdict about a board caused carries one. */
export interface Cause {
  readonly board: string;
  readonly verdict: string;
  readonly rule: string;
}

interface Common {
  /** Present on harmful acts only (judgement 5): NoExecute, deletions and not-ready marks that our verdict caused. */
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

/**
 * What became of an action, and when that was known, where it took any time. `object`: as the API answered, for a write that
 * follows in the same pass.
 */
export type Outcome = { readonly action: Action; readonly at?: Instant } & (
  | { readonly ok: true; readonly object?: KubeObject }
  | { readonly ok: false; readonly error: Error }
);
