import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** How many harmful acts the safety valve permits (docs/judgement.md#safety-valve). */
export interface ActLimits {
  /** The number of acts in any hour; Infinity while an operator has released the valve. */
  readonly acts: (now: Instant) => number;
  /** The part of the acts on pods that the pods of one namespace may use, between 0 and 1. */
  readonly shareOf: (namespace: string, now: Instant) => number;
  /** The namespaces that run pods. */
  readonly namespaces: (now: Instant) => Pick<ReadonlySet<string>, "size" | "has">;
}

/** The default limit: this number of acts, or this share of the site's pods if that is more. */
const minActs = 10;
const shareOfPods = 0.2;
/** The minimum share of a namespace. A namespace with a larger share of the site's pods gets that instead. */
const minShare = 0.5;
/** How long a count of the pods is reused, because the limits are needed for each act. */
const countedFor: Millis = 10_000;

/**
 * The limits of acts: the setting or, without one, a share of the site's pods. Only pods that a kubelet has accepted
 * and that have not ended are counted, because a tenant can create any number of others.
 */
export function actLimits(setting: number | undefined, podsByNamespace: () => ReadonlyMap<string, number>): ActLimits {
  let counted: { readonly at: Instant; readonly pods: ReadonlyMap<string, number>; readonly all: number } | undefined;
  const recent = (now: Instant): NonNullable<typeof counted> => {
    if (counted === undefined || elapsed(counted.at, now) >= countedFor) {
      const pods = podsByNamespace();
      counted = { at: now, pods, all: [...pods.values()].reduce((sum, count) => sum + count, 0) };
    }
    return counted;
  };
  return {
    acts: (now) => setting ?? Math.max(minActs, Math.floor(shareOfPods * recent(now).all)),
    shareOf(namespace, now) {
      const { pods, all } = recent(now);
      return Math.max(minShare, (pods.get(namespace) ?? 0) / Math.max(1, all));
    },
    namespaces: (now) => recent(now).pods,
  };
}
