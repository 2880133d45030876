import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, member } from "../../../agent/api/json.ts";
import {
  type FieldRequirement,
  type FieldSelector,
  type LabelSelector,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from "../../../agent/api/selectors.ts";
import type { ApiObject } from "../objects/object.ts";
import type { SelectableField, ServedKind } from "../served-kind.ts";
import { badRequest, invalidOptions } from "./failure.ts";
import { forbiddenField, invalidValue, type Problem, unsupportedValue } from "./problems.ts";

/** An integer in a query; `undefined` if absent or empty. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? "";
  if (text === "") return undefined;
  if (!/^-?\d{1,18}$/.test(text)) throw badRequest(`${name} must be a number, not ${JSON.stringify(text)}`);
  return Number(text);
}

/** A flag in a query. Every value but "0" and "false" is true, as on the real server. */
export const flagIn = (query: URLSearchParams, name: string): boolean =>
  query.has(name) && query.get(name) !== "0" && query.get(name) !== "false";

export interface ListSelection {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
  /** The object's name, if the field selector names one. */
  readonly name: string | undefined;
}

export function selectionIn(query: URLSearchParams, kind: ServedKind): ListSelection {
  try {
    const labels = parseLabelSelector(query.get("labelSelector") ?? "");
    const fields = parseFieldSelector(query.get("fieldSelector") ?? "").map((one) => wishOf(one, kind));
    const name = fields.find(({ field, equal }) => field === "metadata.name" && equal)?.value;
    // An invalid name selects nothing, and must not become part of a log key.
    return { labels, fields, name: name === undefined || /^[^/\0]+$/.test(name) ? name : "\0" };
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}

const everyKind: readonly SelectableField[] = [{ name: "metadata.name" }, { name: "metadata.namespace" }];

function wishOf(requirement: FieldRequirement, kind: ServedKind): FieldRequirement {
  const known = [...everyKind, ...(kind.fields ?? [])].find(({ name }) => name === requirement.field);
  if (known === undefined) throw badRequest(`field label not supported: ${requirement.field}`);
  return { ...requirement, field: known.path ?? known.name, absent: known.absent ?? "" };
}

export const isEverything = ({ labels, fields }: ListSelection): boolean => labels.length === 0 && fields.length === 0;

export function isSelected({ labels, fields }: ListSelection, object: ApiObject): boolean {
  return matchesLabels(labels, textsOf(object.metadata.labels)) && matchesFields(fields, object);
}

function textsOf(labels: JsonValue | undefined): Readonly<Record<string, string>> | undefined {
  // Labels were checked when the object was written, so all of them are strings.
  return isJsonObject(labels) ? (labels as Readonly<Record<string, string>>) : undefined;
}

/** The state of the collection that a list or watch requests. */
export interface VersionWish {
  /** The revision to show; undefined for the newest. */
  readonly revision: number | undefined;
  readonly match: "Exact" | "NotOlderThan" | undefined;
}

export function revisionIn(query: URLSearchParams): number | undefined {
  const text = query.get("resourceVersion") ?? "";
  if (text === "") return undefined;
  if (!/^\d{1,15}$/.test(text)) throw badRequest(`invalid resource version: ${JSON.stringify(text)} is not a number`);
  return Number(text);
}

export function versionWishIn(query: URLSearchParams): VersionWish {
  const revision = revisionIn(query);
  const match = query.get("resourceVersionMatch") ?? "";
  if (match === "") return { revision, match: undefined };
  const problems: Problem[] = [];
  if (query.get("continue")) {
    problems.push(
      forbiddenField("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"),
    );
  }
  if (revision === undefined && !flagIn(query, "sendInitialEvents")) {
    problems.push(
      forbiddenField("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"),
    );
  }
  if (match !== "Exact" && match !== "NotOlderThan") {
    throw invalidOptions("ListOptions", [
      ...problems,
      unsupportedValue("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]),
    ]);
  }
  if (match === "Exact" && revision === 0) {
    problems.push(
      forbiddenField("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
    );
  }
  if (problems.length > 0) throw invalidOptions("ListOptions", problems);
  return { revision, match };
}

/** Whether a write is a dry run. `kind` names the options in a failure: CreateOptions, UpdateOptions, PatchOptions. */
export function isDryRun(query: URLSearchParams, kind: string): boolean {
  return dryRunOf(query.getAll("dryRun"), kind);
}

const validations = ["Ignore", "Strict", "Warn"] as const;

/** Handling of unknown and repeated fields. */
export type FieldValidation = (typeof validations)[number];

/** The validation that a write requests. `kind` names the options in a failure. */
export function fieldValidationIn(query: URLSearchParams, kind: string): FieldValidation {
  const text = query.get("fieldValidation") ?? "";
  const found = text === "" ? "Warn" : validations.find((one) => one === text);
  if (found === undefined) throw invalidOptions(kind, [unsupportedValue("fieldValidation", text, validations)]);
  return found;
}

const propagations = ["Foreground", "Background", "Orphan"] as const;

/** How a deletion treats the dependents: they are deleted before the object, after it, or not at all. */
export type Propagation = (typeof propagations)[number];

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds: number | undefined;
  readonly propagation: Propagation | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

/** The options of a deletion, from query and body; the body takes precedence, as on the real server. */
export function deleteOptionsIn(query: URLSearchParams, body: JsonObject): DeleteOptions {
  const grace = member(body, "gracePeriodSeconds") ?? numberIn(query, "gracePeriodSeconds");
  if (grace !== undefined && (typeof grace !== "number" || !Number.isInteger(grace))) {
    throw badRequest("gracePeriodSeconds must be a whole number");
  }
  const preconditions = member(body, "preconditions") ?? null;
  return {
    dryRun: dryRunOf(isJsonArray(body.dryRun) ? body.dryRun : query.getAll("dryRun"), "DeleteOptions"),
    gracePeriodSeconds: grace,
    propagation: propagationIn(query, body),
    uid: precondition(preconditions, "uid"),
    resourceVersion: precondition(preconditions, "resourceVersion"),
  };
}

/** The treatment of dependents that a deletion requests; undefined if it does not mention them. */
function propagationIn(query: URLSearchParams, body: JsonObject): Propagation | undefined {
  const policy = member(body, "propagationPolicy") ?? query.get("propagationPolicy");
  const found = propagations.find((one) => one === policy);
  if (policy !== null && found === undefined) {
    throw invalidOptions("DeleteOptions", [unsupportedValue("propagationPolicy", policy, propagations)]);
  }
  // The older form of the option.
  const orphans = member(body, "orphanDependents") ?? null;
  if (orphans === null) return found;
  if (policy === null) return orphans === true ? "Orphan" : "Background";
  const why = "orphanDependents and propagationPolicy cannot be both set";
  throw invalidOptions("DeleteOptions", [invalidValue("propagationPolicy", policy, why)]);
}

function precondition(preconditions: JsonValue, name: string): string | undefined {
  const value = member(preconditions, name) ?? null;
  if (value === null) return undefined;
  if (typeof value !== "string") throw badRequest(`preconditions.${name} must be a string`);
  return value;
}

function dryRunOf(values: readonly JsonValue[], kind: string): boolean {
  const wrong = values.find((value) => value !== "All");
  if (wrong !== undefined) throw invalidOptions(kind, [unsupportedValue("dryRun", wrong, ["All"])]);
  return values.length > 0;
}
