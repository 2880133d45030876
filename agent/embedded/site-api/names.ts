import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, member } from "../../api/json.ts";
import { invalidValue, type Problem, tooLong } from "./problems.ts";
import type { ServedKind } from "./served-kind.ts";

interface Form {
  readonly pattern: RegExp;
  readonly longest: number;
  readonly sentence: string;
}

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const alphanumeric = "must consist of lower case alphanumeric characters";
const qualified = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

/** What DNS allows as a name (RFC 1123). */
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
const mostAnnotationBytes = 256 * 1024;

export function nameProblems({ names = "subdomain" }: ServedKind, name: string): readonly Problem[] {
  const { pattern, longest, sentence } = forms[names];
  if (name.length > longest) return [invalidValue("metadata.name", name, `must be no more than ${longest} bytes`)];
  return pattern.test(name) ? [] : [invalidValue("metadata.name", name, sentence)];
}

/** The parts of metadata that a client writes. What has the wrong type altogether is told by `metadataTypes`. */
export function metadataProblems(metadata: JsonObject): readonly Problem[] {
  return [
    ...labelProblems(metadata.labels),
    ...annotationProblems(metadata.annotations),
    ...finalizerProblems(metadata.finalizers),
    ...ownerProblems(metadata.ownerReferences),
  ];
}

/** A sentence about the first member of metadata that cannot be read at all. */
export function metadataTypes(metadata: JsonObject): string | undefined {
  const isText = (value: JsonValue): boolean => typeof value === "string";
  const isMap = (value: JsonValue): boolean => isJsonObject(value) && Object.values(value).every(isText);
  const types: readonly [string, (value: JsonValue) => boolean, string][] = [
    ["name", isText, "a string"],
    ["generateName", isText, "a string"],
    ["namespace", isText, "a string"],
    ["uid", isText, "a string"],
    ["resourceVersion", isText, "a string"],
    ["labels", isMap, "an object of strings"],
    ["annotations", isMap, "an object of strings"],
    ["finalizers", (value) => isJsonArray(value) && value.every(isText), "a list of strings"],
    ["ownerReferences", (value) => isJsonArray(value) && value.every(isJsonObject), "a list of objects"],
    ["managedFields", (value) => isJsonArray(value) && value.every(isJsonObject), "a list of objects"],
  ];
  const wrong = types.find(([name, fits]) => {
    const value = member(metadata, name);
    return value !== undefined && value !== null && !fits(value);
  });
  return wrong && `metadata.${wrong[0]} must be ${wrong[2]}`;
}

const textsIn = (value: JsonValue | undefined): readonly [string, string][] =>
  isJsonObject(value) ? Object.entries(value).map(([key, text]) => [key, String(text)]) : [];

function labelProblems(labels: JsonValue | undefined): readonly Problem[] {
  return textsIn(labels).flatMap(([key, value]) => [
    ...keyProblems("metadata.labels", key),
    ...(value.length <= 63 && labelValue.test(value)
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

function keyProblems(field: string, key: string): readonly Problem[] {
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
  const long = bytes > mostAnnotationBytes ? [tooLong("metadata.annotations", mostAnnotationBytes)] : [];
  return [...texts.flatMap(([key]) => keyProblems("metadata.annotations", key.toLowerCase())), ...long];
}

function finalizerProblems(finalizers: JsonValue | undefined): readonly Problem[] {
  const names = isJsonArray(finalizers) ? finalizers : [];
  return names.flatMap((name) => (typeof name === "string" ? keyProblems("metadata.finalizers", name) : []));
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
