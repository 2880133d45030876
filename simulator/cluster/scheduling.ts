import type { Node, Pod, Taint, Toleration } from "../../agent/api/core.ts";
import { isFinished } from "../../agent/api/pods.ts";

/** The board for a pod, or the reason why there is none. */
export type Placement =
  | { readonly board: string; readonly why?: undefined }
  | { readonly board?: undefined; readonly why: string };

/** The board with the fewest pods among those that fit; ties go to the first by name. */
export function placementOf(pod: Pod, boards: readonly Node[], load: ReadonlyMap<string, number>): Placement {
  const refusals = new Map<string, number>();
  const fitting: Node[] = [];
  for (const node of boards) {
    const refusal = refusalOf(pod, node, load.get(node.metadata.name) ?? 0);
    if (refusal === undefined) fitting.push(node);
    else refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
  }
  const [first] = fitting.map(({ metadata }) => metadata.name).sort((a, b) => order(a, b, load));
  if (first !== undefined) return { board: first };
  const reasons = [...refusals].map(([reason, count]) => `${count} ${reason}`).sort();
  return { why: `none of ${boards.length} boards fits${reasons.length === 0 ? "" : `: ${reasons.join(", ")}`}` };
}

/** Number of pods on each board, including terminating ones but not finished ones. */
export function loadOf(pods: Iterable<Pod>): Map<string, number> {
  const load = new Map<string, number>();
  for (const pod of pods) {
    const board = pod.spec?.nodeName;
    if (board !== undefined && !isFinished(pod)) load.set(board, (load.get(board) ?? 0) + 1);
  }
  return load;
}

const order = (a: string, b: string, load: ReadonlyMap<string, number>): number =>
  (load.get(a) ?? 0) - (load.get(b) ?? 0) || (a < b ? -1 : 1);

const cordoned: Taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

function refusalOf(pod: Pod, node: Node, load: number): string | undefined {
  const taints = [...(node.spec?.taints ?? []), ...(node.spec?.unschedulable ? [cordoned] : [])];
  const refusing = taints.find(
    (taint) => taint.effect !== "PreferNoSchedule" && !pod.spec?.tolerations?.some((one) => tolerates(one, taint)),
  );
  if (refusing?.key === cordoned.key) return "cordoned";
  if (refusing) return `tainted ${refusing.key}`;
  if (!isSelected(pod, node)) return "not selected by the pod";
  if (load >= Number(node.status?.allocatable?.pods ?? 110)) return "full";
  return undefined;
}

function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  return operator === "Exists" || (Boolean(key) && (value ?? "") === (taint.value ?? ""));
}

function isSelected({ spec }: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const selector = Object.entries(spec?.nodeSelector ?? {});
  if (!selector.every(([label, value]) => labels[label] === value)) return false;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return true;
  // Terms are alternatives; all expressions of a term must hold, and an empty term selects nothing.
  return required.nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    return (
      matchExpressions.every((one) => holds(one, labels[one.key])) &&
      matchFields.every((one) => holds(one, one.key === "metadata.name" ? node.metadata.name : undefined))
    );
  });
}

interface Requirement {
  readonly operator: string;
  readonly values?: readonly string[];
}

function holds({ operator, values = [] }: Requirement, actual: string | undefined): boolean {
  switch (operator) {
    case "In":
      return actual !== undefined && values.includes(actual);
    case "NotIn":
      return actual === undefined || !values.includes(actual);
    case "Exists":
      return actual !== undefined;
    case "DoesNotExist":
      return actual === undefined;
    case "Gt":
      return Number(actual) > Number(values[0]);
    case "Lt":
      return Number(actual) < Number(values[0]);
    default:
      return false;
  }
}
