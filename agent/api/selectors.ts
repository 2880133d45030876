/** A selector is invalid; the message says what is wrong with it. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}

/** All requirements must hold. An empty list selects everything. */
export type LabelSelector = readonly LabelRequirement[];

export type LabelRequirement =
  | { readonly key: string; readonly operator: "in" | "notin"; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: "exists" | "absent" }
  | { readonly key: string; readonly operator: "gt" | "lt"; readonly value: number };

/** A label selector as it stands in API objects. */
export interface WrittenSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export function matchesLabels(
  selector: LabelSelector,
  labels: Readonly<Record<string, string | undefined>> | undefined,
): boolean {
  // Inherited properties ("constructor") are not labels.
  const own = (key: string): string | undefined => (labels && Object.hasOwn(labels, key) ? labels[key] : undefined);
  return selector.every((requirement) => holds(requirement, own(requirement.key)));
}

function holds(requirement: LabelRequirement, value: string | undefined): boolean {
  switch (requirement.operator) {
    case "in":
      return value !== undefined && requirement.values.includes(value);
    case "notin":
      return value === undefined || !requirement.values.includes(value);
    case "exists":
      return value !== undefined;
    case "absent":
      return value === undefined;
    case "gt":
      return value !== undefined && isInteger(value) && Number(value) > requirement.value;
    case "lt":
      return value !== undefined && isInteger(value) && Number(value) < requirement.value;
    default:
      return requirement satisfies never;
  }
}

/**
 * Maximum length of a selector, in characters: about as much as fits into the request line that an API server accepts.
 */
const maxSelectorLength = 16_384;

function checkLength({ length }: string, maxLength: number): void {
  if (length > maxLength) throw new SelectorError(`a selector of ${length} characters is longer than ${maxLength}`);
}

/** Parses the form of a request's `labelSelector`: "a=b,c!=d,e in (x,y),f notin (z),g,!h,i>5". Throws SelectorError. */
export function parseLabelSelector(text: string, maxLength = maxSelectorLength): LabelSelector {
  checkLength(text, maxLength);
  if (text.trim() === "") return [];
  return topLevelParts(text).map((part) => requirementOf(part.trim(), text));
}

/** Converts a selector from an API object. Throws SelectorError. */
export function labelSelectorOf({ matchLabels = {}, matchExpressions = [] }: WrittenSelector): LabelSelector {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => within(key, [value])),
    ...matchExpressions.map(({ key, operator, values = [] }) => expression(key, operator, values)),
  ];
}

function expression(key: string, operator: string, values: readonly string[]): LabelRequirement {
  checkKey(key, key);
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) throw new SelectorError(`${operator} needs at least one value (label "${key}")`);
      return { key, operator: operator === "In" ? "in" : "notin", values };
    case "Exists":
      return { key, operator: "exists" };
    case "DoesNotExist":
      return { key, operator: "absent" };
    default:
      throw new SelectorError(`"${operator}" is not an operator of a label selector`);
  }
}

function requirementOf(part: string, whole: string): LabelRequirement {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
  if (set) {
    const [, key = "", operator, list = ""] = set;
    checkKey(key, whole);
    const values = list.split(",").map((value) => checkedValue(value.trim(), whole));
    return { key, operator: operator === "in" ? "in" : "notin", values };
  }
  const compared = /^([^=!<>\s]+)\s*(==|=|!=|>|<)\s*(\S*)$/.exec(part);
  if (compared) return comparison(compared, whole);
  const absent = part.startsWith("!");
  const key = absent ? part.slice(1).trim() : part;
  checkKey(key, whole);
  return { key, operator: absent ? "absent" : "exists" };
}

function comparison([, key = "", sign = "", value = ""]: readonly string[], whole: string): LabelRequirement {
  checkKey(key, whole);
  if (sign === ">" || sign === "<") {
    if (!isInteger(value)) throw new SelectorError(`"${value}" is not an integer in label selector "${whole}"`);
    return { key, operator: sign === ">" ? "gt" : "lt", value: Number(value) };
  }
  checkedValue(value, whole);
  return sign === "!=" ? { key, operator: "notin", values: [value] } : within(key, [value]);
}

const within = (key: string, values: readonly string[]): LabelRequirement => ({ key, operator: "in", values });

/**
 * Splits a selector at its commas, except those inside parentheses, which separate values. Scans from the end, so that
 * an opening parenthesis without a closing one does not swallow the rest.
 */
function topLevelParts(text: string): readonly string[] {
  const parts: string[] = [];
  let end = text.length;
  let isInside = false;
  for (let at = text.length - 1; at >= 0; at--) {
    const sign = text[at];
    if (sign === "(" || sign === ")") isInside = sign === ")";
    if (sign !== "," || isInside) continue;
    parts.push(text.slice(at + 1, end));
    end = at;
  }
  parts.push(text.slice(0, end));
  return parts.reverse();
}

const isInteger = (value: string): boolean => /^-?\d{1,18}$/.test(value);

function checkKey(key: string, whole: string): void {
  const name = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
  if (!name.test(key)) throw new SelectorError(`"${key}" is not the key of a label in label selector "${whole}"`);
}

function checkedValue(value: string, whole: string): string {
  if (/^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/.test(value)) return value;
  throw new SelectorError(`"${value}" is not the value of a label in label selector "${whole}"`);
}

export interface FieldRequirement {
  /** Dotted path, such as "spec.nodeName". Which fields can be selected depends on the resource. */
  readonly field: string;
  /** True for `=`, false for `!=`. */
  readonly equal: boolean;
  readonly value: string;
  /** The value to assume if the object lacks the field; default "". */
  readonly absent?: string;
}

/** All requirements must hold. An empty list selects everything. */
export type FieldSelector = readonly FieldRequirement[];

export const matchesFields = (selector: FieldSelector, object: object): boolean =>
  selector.every(({ field, equal, value, absent = "" }) => ((fieldOf(object, field) || absent) === value) === equal);

/** The string, number or boolean at a dotted path, as text; "" for anything else. */
export function fieldOf(object: object, path: string): string {
  let at: unknown = object;
  for (const name of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return "";
    at = Reflect.get(at, name);
  }
  return typeof at === "string" || typeof at === "number" || typeof at === "boolean" ? String(at) : "";
}

/**
 * Parses a request's `fieldSelector`, such as "spec.nodeName=pi-3,status.phase!=Running". A backslash escapes a comma,
 * an equals sign or a backslash. Throws SelectorError.
 */
export function parseFieldSelector(text: string): FieldSelector {
  checkLength(text, maxSelectorLength);
  if (text === "") return [];
  return (text.match(/(?:\\.|[^,\\])+/g) ?? []).map((part) => {
    const [, field = "", sign = "", value = ""] = /^([^=!\\]+)(==|=|!=)((?:\\[\\,=]|[^\\,=])*)$/s.exec(part) ?? [];
    if (sign === "") throw new SelectorError(`"${part}" in field selector "${text}" is not of the form field=value`);
    return { field: field.trim(), equal: sign !== "!=", value: value.replace(/\\(.)/gs, "$1") };
  });
}
