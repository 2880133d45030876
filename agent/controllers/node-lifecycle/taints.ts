import type { Node, NodeCondition, Taint } from "../../api/core.ts";
import {
  changeTaints,
  isSameTaint,
  notReady,
  type TaintName,
  taintKeys,
  taintOf,
  taintsOf,
  unreachable,
} from "../../api/taints.ts";
import { timestamp } from "../../api/timestamps.ts";
import type { Instant } from "../../base/clock.ts";

/**
 * The NoExecute taint that follows from a board's readiness, and the opposite one, which the board must not have at the
 * same time.
 */
export interface DesiredTaint {
  readonly wanted: TaintName;
  readonly opposite: TaintName;
}

/**
 * The taint for a status of the Ready condition; undefined if the board is ready, or the status is missing or
 * unrecognised.
 */
export function desiredTaintFor(ready: string | undefined): DesiredTaint | undefined {
  if (ready === "False") return { wanted: notReady, opposite: unreachable };
  if (ready === "Unknown") return { wanted: unreachable, opposite: notReady };
  return undefined;
}

/**
 * The taints after swapping one of ours for the other, in one patch, so that a board never has both or none. If it has
 * both, the remaining taint keeps its timeAdded, because the pods' windows belong to it.
 */
export const swapTaints = (node: Node, { wanted, opposite }: DesiredTaint, now: Instant): readonly Taint[] => {
  const timeAdded = taintOf(node, wanted)?.timeAdded ?? timestamp(now);
  return changeTaints(taintsOf(node), { add: [{ ...wanted, timeAdded }], remove: [opposite] });
};

/** The taints without our NoExecute taints; undefined if the board has neither. */
export const withoutNoExecute = (node: Node): readonly Taint[] | undefined =>
  runningTaint(node) && changeTaints(taintsOf(node), { remove: [unreachable, notReady] });

/** Our NoExecute taint on a board; undefined if it has none. */
export const runningTaint = (node: Node): Taint | undefined => taintOf(node, unreachable) ?? taintOf(node, notReady);

const keysByCondition: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: taintKeys.notReady, Unknown: taintKeys.unreachable },
  MemoryPressure: { True: taintKeys.memoryPressure },
  DiskPressure: { True: taintKeys.diskPressure },
  PIDPressure: { True: taintKeys.pidPressure },
  NetworkUnavailable: { True: taintKeys.networkUnavailable },
};

const ownKeys: readonly string[] = Object.values(taintKeys);

/** All taints, with the NoSchedule taints that follow from conditions and cordon; undefined if nothing changes. */
export function scheduledTaints(node: Node, now: Instant): readonly Taint[] | undefined {
  const wanted = wantedKeys(node).map((key): TaintName => ({ key, effect: "NoSchedule" }));
  const present = taintsOf(node).filter(({ key, effect }) => effect === "NoSchedule" && ownKeys.includes(key));
  const missing = wanted.filter((taint) => !present.some((other) => isSameTaint(other, taint)));
  const extra = present.filter((taint) => !wanted.some((other) => isSameTaint(other, taint)));
  if (missing.length === 0 && extra.length === 0) return undefined;
  const add = missing.map((taint) => ({ ...taint, timeAdded: timestamp(now) }));
  return changeTaints(taintsOf(node), { add, remove: extra });
}

function wantedKeys({ spec, status }: Node): readonly string[] {
  const conditions: readonly NodeCondition[] = Array.isArray(status?.conditions) ? status.conditions : [];
  const keys = conditions.map((condition) => keysByCondition[condition?.type]?.[condition.status]);
  if (spec?.unschedulable === true) keys.push(taintKeys.unschedulable);
  return [...new Set(keys.filter((key) => key !== undefined))];
}

/** The beta labels copy the stable ones wherever these are set. */
const labelPairs: readonly (readonly [stable: string, beta: string])[] = [
  ["kubernetes.io/os", "beta.kubernetes.io/os"],
  ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
];

/** The beta labels to set; undefined if none. */
export function laggingLabels({ metadata: { labels = {} } }: Node): Readonly<Record<string, string>> | undefined {
  const changes: Record<string, string> = {};
  for (const [stable, beta] of labelPairs) {
    const value = labels[stable];
    if (value !== undefined && labels[beta] !== value) changes[beta] = value;
  }
  return Object.keys(changes).length === 0 ? undefined : changes;
}
