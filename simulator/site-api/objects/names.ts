import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, member } from "../../../agent/api/json.ts";
import { invalidValue, type Problem, tooLong } from "../requests/problems.ts";
import type { ServedKind } from "../served-kind.ts";

interface Form {
  readonly pattern: RegExp;
  readonly longest: number;
  readonly sentence: string;
}

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const alphanumeric = "must consist of lower case alphanumeric characters";
const qualified = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/** The forms of names that are valid in DNS (RFC 1123). */
const forms: Readonly<Record<NonNullable<ServedKind["names"]>, Form>> = {
  subdomain: {
    pattern: new RegExp(`^${label}(\\.${label})*$`),
    longest: 253,
    sentence: `a lowercase RFC 1123 subdomain ${alphanumeric}, '-' or '.', and must start and end with an alphanumeric character`,
  },
  label: {
    pattern: new RegExp(`^${label}$`),
    longest: 63,
    sentence: `a lowercase RFC 1123 label ${alphanumeric} or '-', and must start and end with an alphanumeric character`,
  },
};

const labelName = new RegExp(`^${qualified}$`);
const labelValue = new RegExp(`^(${qualified})?$`);
const maxAnnotationBytes = 256 * 1024;

export const nameProblems = ({ names = "subdomain" }: ServedKind, name: string): readonly Problem[] =>
  formProblems("metadata.name", name, names);

export function formProblems(field: string, name: string, form: keyof typeof forms): readonly Problem[] {
  const { pattern, longest, sentence } = forms[form];
  if (name.length > longest) return [invalidValue(field, name, `must be no more than ${longest} bytes`)];
  return pattern.test(name) ? [] : [invalidValue(field, name, sentence)];
}

/** The parts of metadata that clients write. Their types were checked when they were read. */
export function metadataProblems(metadata: JsonObject): readonly Problem[] {
  return [
    ...labelProblems(metadata.labels),
    ...annotationProblems(metadata.annotations),
    ...finalizerProblems(metadata.finalizers),
    ...ownerProblems(metadata.ownerReferences),
  ];
}

const textsIn = (value: JsonValue | undefined): readonly [string, string][] =>
  isJsonObject(value) ? Object.entries(value).map(([key, text]) => [key, String(text)]) : [];

function labelProblems(labels: JsonValue | undefined): readonly Problem[] {
  return textsIn(labels).flatMap(([key, value]) => [
    ...keyProblems("metadata.labels", key),
    ...(isLabelValue(value)
      ? []
      : [
          invalidValue(
            "metadata.labels",
            value,
            "a label's value is empty or at most 63 alphanumeric characters, '-', '_' or '.', and starts and ends with an alphanumeric character",
          ),
        ]),
  ]);
}

export const isLabelValue = (value: string): boolean => value.length <= 63 && labelValue.test(value);

export function keyProblems(field: string, key: string): readonly Problem[] {
  const [name = "", prefix, ...more] = key.split("/").reverse();
  const fits =
    more.length === 0 &&
    name.length <= 63 &&
    labelName.test(name) &&
    (prefix === undefined || (prefix.length <= 253 && forms.subdomain.pattern.test(prefix)));
  const sentence =
    "a key is at most 63 alphanumeric characters, '-', '_' or '.', starts and ends with an alphanumeric character, and may have a DNS subdomain and '/' before it";
  return fits ? [] : [invalidValue(field, key, sentence)];
}

function annotationProblems(annotations: JsonValue | undefined): readonly Problem[] {
  const texts = textsIn(annotations);
  const bytes = texts.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  const long = bytes > maxAnnotationBytes ? [tooLong("metadata.annotations", maxAnnotationBytes)] : [];
  return [...texts.flatMap(([key]) => keyProblems("metadata.annotations", key.toLowerCase())), ...long];
}

/** Kubernetes' own finalizers; all others begin with the domain of their owner. */
const standardFinalizers = ["orphan", "foregroundDeletion", "kubernetes"];

function finalizerProblems(finalizers: JsonValue | undefined): readonly Problem[] {
  const names = isJsonArray(finalizers) ? finalizers.map(String) : [];
  return names.flatMap((name, i) => {
    const field = `metadata.finalizers[${i}]`;
    const malformed = keyProblems(field, name);
    if (malformed.length > 0 || name.includes("/") || standardFinalizers.includes(name)) return malformed;
    return [invalidValue(field, name, "name is neither a standard finalizer name nor is it fully qualified")];
  });
}

function ownerProblems(owners: JsonValue | undefined): readonly Problem[] {
  const references = isJsonArray(owners) ? owners : [];
  return references.flatMap((reference) =>
    ["apiVersion", "kind", "name", "uid"].flatMap((name) => {
      const value = member(reference, name);
      const field = `metadata.ownerReferences.${name}`;
      return typeof value === "string" && value !== "" ? [] : [invalidValue(field, value, "must not be empty")];
    }),
  );
}
