import type { Node, Pod } from "./core.ts";
import { type LabelRequirement, type LabelSelector, matchesLabels } from "./selectors.ts";

type Affinity = NonNullable<Pod["spec"]>["affinity"];
type Terms = NonNullable<
  NonNullable<NonNullable<Affinity>["nodeAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>["nodeSelectorTerms"];
type Term = Terms[number];
type Expression = NonNullable<Term["matchExpressions"]>[number];

/** A pod's constraints on its board. */
export interface Placed {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: Affinity;
}

const nodeName = "metadata.name";

/** Checks the node selector and the required node affinity, of which one matching term suffices. */
export function isSelected({ nodeSelector, affinity }: Placed, { metadata: { name, labels } }: Node): boolean {
  const selector = Object.entries(nodeSelector ?? {}).map(([key, value]): LabelRequirement => within(key, [value]));
  if (!matchesLabels(selector, labels)) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required) return true;
  return listed(required.nodeSelectorTerms).some((term) => isMet(term, name, labels));
}

/** An empty term, or one that cannot be parsed, selects nothing. */
function isMet(term: Term, name: string, labels: Node["metadata"]["labels"]): boolean {
  const [expressions, fields] = [listed(term.matchExpressions), listed(term.matchFields)];
  if (expressions.length + fields.length === 0) return false;
  const selector = allOf(expressions.map(requirementOf));
  return selector !== undefined && matchesLabels(selector, labels) && fields.every((field) => isFieldMet(field, name));
}

/** A Node's name is the only field to match, with In or NotIn and one value. */
function isFieldMet({ key, operator, values = [] }: Expression, name: string): boolean {
  if (values.length !== 1) return false;
  const isEqual = values[0] === (key === nodeName ? name : "");
  return operator === "In" ? isEqual : operator === "NotIn" && !isEqual;
}

/** The board to which a pod's affinity pins it; undefined if none, or more than one. */
export function pinnedTo(affinity: Affinity): string | undefined {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const fields = listed(required?.nodeSelectorTerms).flatMap(({ matchFields }) => listed(matchFields));
  const pin = fields.find(({ key, operator }) => key === nodeName && operator === "In");
  return pin?.values?.length === 1 ? pin.values[0] : undefined;
}

/** Replaces all required terms: they selected the board, and the pod is for this board only. */
export const pinned = (affinity: Affinity, board: string): NonNullable<Affinity> => ({
  ...affinity,
  nodeAffinity: {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: nodeName, operator: "In", values: [board] }] }],
    },
  },
});

function requirementOf({ key, operator, values = [] }: Expression): LabelRequirement | undefined {
  const [first] = values;
  switch (operator) {
    case "In":
      return values.length > 0 ? within(key, values) : undefined;
    case "NotIn":
      return values.length > 0 ? { key, operator: "notin", values } : undefined;
    case "Exists":
      return values.length === 0 ? { key, operator: "exists" } : undefined;
    case "DoesNotExist":
      return values.length === 0 ? { key, operator: "absent" } : undefined;
    case "Gt":
    case "Lt":
      if (first === undefined || values.length !== 1 || !/^[+-]?\d{1,18}$/.test(first)) return undefined;
      return { key, operator: operator === "Gt" ? "gt" : "lt", value: Number(first) };
    default:
      return undefined;
  }
}

const within = (key: string, values: readonly string[]): LabelRequirement => ({ key, operator: "in", values });

const allOf = (requirements: readonly (LabelRequirement | undefined)[]): LabelSelector | undefined =>
  requirements.every((one) => one !== undefined) ? requirements : undefined;

const listed = <Item>(list: readonly Item[] | undefined): readonly Item[] => (Array.isArray(list) ? list : []);
