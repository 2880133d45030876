import { isRawInteger } from "./exact-integers.ts";
/** A JSON object fresh from the parser, which we may modify. */
export type ParsedFields = Record<string, unknown>;

type Plain = "string" | "number" | "boolean";

export const isFields = (value: unknown): value is ParsedFields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isRawInteger(value);

/** True for a string that is not empty. */
export const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** True for an array of strings that are not empty. */
export const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

/** True for an array of strings, which may be empty. */
export const areStrings = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

/** True if the field is missing or null; null is deleted. */
export function isAbsent(owner: ParsedFields, name: string): boolean {
  if (owner[name] === null) delete owner[name];
  return owner[name] === undefined;
}

/** True if the field is absent or of this type. */
export const isOptional = (owner: ParsedFields, name: string, type: Plain): boolean =>
  isAbsent(owner, name) || typeof owner[name] === type;

/** True if the field is absent or a map of strings. */
export function areOptionalStrings(owner: ParsedFields, name: string): boolean {
  if (isAbsent(owner, name)) return true;
  const map = owner[name];
  return isFields(map) && Object.values(map).every((value) => typeof value === "string");
}

/** Objects with more labels are refused: labels are matched against selectors and stored as rows, which takes time. */
export const maxLabels = 1000;

/**
 * How many extra labels an object may have if controllers create objects of its kind, by the kind's plural: such an
 * object gets its owner's labels and a few more, and must not be refused if its owner was accepted. EndpointSlices are
 * also created from Endpoints.
 */
const roomOfMade: Readonly<Record<string, number>> = {
  endpoints: 8,
  endpointslices: 16,
  pods: 16,
  controllerrevisions: 16,
};

/** Maximum number of labels of a usable object of this kind. */
export const maxLabelsOf = ({ plural }: { readonly plural: string }): number => maxLabels + (roomOfMade[plural] ?? 0);

/** Whether controllers create objects of this kind from other objects. */
export const isControllerCreated = ({ plural }: { readonly plural: string }): boolean =>
  roomOfMade[plural] !== undefined;

export function hasTooManyLabels(map: unknown, most = maxLabels): boolean {
  if (!isFields(map)) return false;
  let count = 0;
  for (const _ in map) if (++count > most) return true;
  return false;
}

/** True if the field is absent or a list of objects that all satisfy `isWanted`. */
export function areOptionalItems(
  owner: ParsedFields,
  name: string,
  isWanted: (item: ParsedFields) => boolean,
): boolean {
  if (isAbsent(owner, name)) return true;
  const list = owner[name];
  return Array.isArray(list) && list.every((item: unknown) => isFields(item) && isWanted(item));
}

/** The field if it is an object. Any other value is deleted, and undefined is returned. */
export function section(object: ParsedFields, name: string): ParsedFields | undefined {
  const value = object[name];
  if (isFields(value)) return value;
  if (value !== undefined) delete object[name];
  return undefined;
}

/** Deletes the field unless it is of this type. */
export function keepOnly(owner: ParsedFields, name: string, type: Plain): void {
  if (!isOptional(owner, name, type)) delete owner[name];
}

/** Deletes the entries of a map that are not strings, or the field if it is not a map. */
export function keepStrings(owner: ParsedFields, name: string): void {
  if (isAbsent(owner, name)) return;
  const map = owner[name];
  if (!isFields(map)) {
    delete owner[name];
    return;
  }
  for (const key in map) if (typeof map[key] !== "string") delete map[key];
}

/** Deletes the items of a list that are not usable objects, or the field if it is not a list. */
export function keepItems(owner: ParsedFields, name: string, usable: (item: ParsedFields) => boolean): void {
  if (isAbsent(owner, name)) return;
  const list = owner[name];
  if (!Array.isArray(list)) {
    delete owner[name];
    return;
  }
  const kept = list.filter((item: unknown) => isFields(item) && usable(item));
  if (kept.length < list.length) owner[name] = kept;
}

/** Deletes the items of a list that are not strings or are empty, or the field if it is not a list. */
export function keepTexts(owner: ParsedFields, name: string): void {
  if (isAbsent(owner, name) || areTexts(owner[name])) return;
  const list: unknown = owner[name];
  if (Array.isArray(list)) owner[name] = list.filter(isText);
  else delete owner[name];
}

export function keepConditions(status: ParsedFields): void {
  keepItems(status, "conditions", (condition) => {
    for (const name of ["reason", "message", "lastTransitionTime", "lastHeartbeatTime", "lastProbeTime"]) {
      keepOnly(condition, name, "string");
    }
    return isText(condition.type) && isText(condition.status);
  });
}

/**
 * Whether an object can have this name: a DNS-1123 subdomain. The API server does not check every reference to another
 * object, and a name such as `..` in a request's path would mean something else.
 */
export const isObjectName = (value: unknown): value is string =>
  typeof value === "string" && value.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value);
