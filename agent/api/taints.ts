import { conditionOf } from "./conditions.ts";
import type { Node, Taint, Toleration } from "./core.ts";

/** The keys of the taints that a node lifecycle controller owns. */
export const taintKeys = {
  notReady: "node.kubernetes.io/not-ready",
  unreachable: "node.kubernetes.io/unreachable",
  unschedulable: "node.kubernetes.io/unschedulable",
  memoryPressure: "node.kubernetes.io/memory-pressure",
  diskPressure: "node.kubernetes.io/disk-pressure",
  pidPressure: "node.kubernetes.io/pid-pressure",
  networkUnavailable: "node.kubernetes.io/network-unavailable",
} as const;

/** The identity of a taint within its Node: key and effect. */
export type TaintName = Pick<Taint, "key" | "effect">;

/** Set by a person on a Node that will not return in its previous state. */
export const outOfServiceKey = "node.kubernetes.io/out-of-service";

export const notReady: TaintName = { key: taintKeys.notReady, effect: "NoExecute" };
export const unreachable: TaintName = { key: taintKeys.unreachable, effect: "NoExecute" };

/** Whether this is the key of one of the NoExecute taints that follow from the readiness of a board. */
export const isLifecycleKey = (key: string): boolean => key === taintKeys.unreachable || key === taintKeys.notReady;

export const isSameTaint = (a: TaintName, b: TaintName): boolean => a.key === b.key && a.effect === b.effect;

/** The taints of a Node; malformed ones are left out. */
export const taintsOf = ({ spec }: Node): readonly Taint[] =>
  Array.isArray(spec?.taints) ? spec.taints.filter((taint) => typeof taint?.key === "string") : [];

/** Whether an operator marked the Node out of service; the mark is ignored while the Node is ready. */
export const isOutOfService = (node: Node | undefined): boolean =>
  node !== undefined &&
  conditionOf(node.status?.conditions, "Ready")?.status !== "True" &&
  taintsOf(node).some(({ key }) => key === outOfServiceKey);

export const taintOf = (node: Node, name: TaintName): Taint | undefined =>
  taintsOf(node).find((taint) => isSameTaint(taint, name));

export const noExecuteTaints = (node: Node): readonly Taint[] =>
  taintsOf(node).filter(({ effect }) => effect === "NoExecute");

/**
 * The whole list after a change, because a patch cannot address a single taint: the list has no merge key. An added
 * taint replaces the one with the same key and effect; all others remain unchanged.
 */
export function changeTaints(
  before: readonly Taint[],
  change: { readonly add?: readonly Taint[]; readonly remove?: readonly TaintName[] },
): readonly Taint[] {
  const { add = [], remove = [] } = change;
  const replaced = before.map((taint) => add.find((added) => isSameTaint(added, taint)) ?? taint);
  const appended = add.filter((added) => !before.some((taint) => isSameTaint(taint, added)));
  return [...replaced, ...appended].filter((taint) => !remove.some((name) => isSameTaint(name, taint)));
}

/** In a toleration, an empty key or effect matches any, and an empty operator means Equal. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? "") {
    case "":
    case "Equal":
      return (toleration.value ?? "") === (taint.value ?? "");
    case "Exists":
      return true;
    default:
      // An unknown operator tolerates nothing. Numeric operators (Gt, Lt) exist only behind a feature gate that is off
      // by default.
      return false;
  }
}
