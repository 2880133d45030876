import type { Node, Pod } from "./core.ts";
import { type LabelRequirement, type LabelSelector, matchesLabels } from "./selectors.ts";

type Affinity = NonNullable<Pod["spec"]>["affinity"];
type Terms = NonNullable<
  NonNullable<NonNullable<Affinity>["nodeAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>["nodeSelectorTerms"];
type Term = Terms[number];
type Expression = NonNullable<Term["matchExpressions"]>[number];

/** The fields of a pod's spec that restrict the boards it may run on. */
export interface PlacementRules {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: Affinity;
}

const nodeName = "metadata.name";

/** True if the Node matches the node selector and at least one term of the required node affinity. */
export function isSelected({ nodeSelector, affinity }: PlacementRules, { metadata: { name, labels } }: Node): boolean {
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

/** The only field that can be selected is the Node's name. In and NotIn are valid, each with one value. */
function isFieldMet({ key, operator, values = [] }: Expression, name: string): boolean {
  if (values.length !== 1) return false;
  const isEqual = values[0] === (key === nodeName ? name : "");
  return operator === "In" ? isEqual : operator === "NotIn" && !isEqual;
}

/** The name of the board to which a pod's affinity pins it; undefined if it names no board, or several. */
export function pinnedTo(affinity: Affinity): string | undefined {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const fields = listed(required?.nodeSelectorTerms).flatMap(({ matchFields }) => listed(matchFields));
  const pin = fields.find(({ key, operator }) => key === nodeName && operator === "In");
  return pin?.values?.length === 1 ? pin.values[0] : undefined;
}

/**
 * The only boards that the rules admit, by name or hostname; undefined if they restrict the boards by other properties
 * alone, or not at all.
 */
export function namedBoards({ nodeSelector, affinity }: PlacementRules): readonly string[] | undefined {
  const selected = nodeSelector?.[hostnameLabel];
  if (selected !== undefined) return [selected];
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const named = listed(terms).map(namedIn);
  return named.length > 0 && named.every((names) => names !== undefined) ? named.flat() : undefined;
}

const hostnameLabel = "kubernetes.io/hostname";

function namedIn({ matchExpressions, matchFields }: Term): readonly string[] | undefined {
  const names =
    listed(matchFields).find(({ key, operator }) => key === nodeName && operator === "In") ??
    listed(matchExpressions).find(({ key, operator }) => key === hostnameLabel && operator === "In");
  return names?.values;
}

/**
 * The affinity that pins a pod to this board. Replaces all required terms, because this board already satisfies them.
 */
export const pinTo = (affinity: Affinity, board: string): NonNullable<Affinity> => ({
  ...affinity,
  nodeAffinity: {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: nodeName, operator: "In", values: [board] }] }],
    },
  },
});

/** The requirement that an expression states; undefined if the expression is invalid. */
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
