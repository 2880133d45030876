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

export const notReady: TaintName = { key: taintKeys.notReady, effect: "NoExecute" };
export const unreachable: TaintName = { key: taintKeys.unreachable, effect: "NoExecute" };

export const isSameTaint = (a: TaintName, b: TaintName): boolean => a.key === b.key && a.effect === b.effect;

/** All valid taints of a Node. */
export const taintsOf = ({ spec }: Node): readonly Taint[] =>
  Array.isArray(spec?.taints) ? spec.taints.filter((taint) => typeof taint?.key === "string") : [];

export const taintOf = (node: Node, name: TaintName): Taint | undefined =>
  taintsOf(node).find((taint) => isSameTaint(taint, name));

export const noExecuteTaints = (node: Node): readonly Taint[] =>
  taintsOf(node).filter(({ effect }) => effect === "NoExecute");

/**
 * The whole list after a change: lists of taints have no merge key, so a patch always replaces all of it. An added
 * taint takes the place of one with the same name; all others stay as they are.
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

/** Empty key, effect and operator stand for any key, any effect and Equal. */
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
      // Numeric comparison is behind a feature gate that is off by default; an unknown operator tolerates nothing.
      return false;
  }
}
