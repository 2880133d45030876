/** A JSON object fresh from the parser, which we may modify. */
export type Fields = Record<string, unknown>;

type Plain = "string" | "number" | "boolean";

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

export const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

/** JSON null means absent. */
export function isAbsent(owner: Fields, name: string): boolean {
  if (owner[name] === null) delete owner[name];
  return owner[name] === undefined;
}

export const isOptional = (owner: Fields, name: string, type: Plain): boolean =>
  isAbsent(owner, name) || typeof owner[name] === type;

/** A map of strings, or absent. */
export function areOptionalStrings(owner: Fields, name: string): boolean {
  if (isAbsent(owner, name)) return true;
  const map = owner[name];
  return isFields(map) && Object.values(map).every((value) => typeof value === "string");
}

/** Labels and selectors are compared with each other and stored as rows: no honest object has this many. */
export const mostLabels = 1000;

export function hasTooManyLabels(map: unknown): boolean {
  if (!isFields(map)) return false;
  let count = 0;
  for (const _ in map) if (++count > mostLabels) return true;
  return false;
}

/** A list of objects that all satisfy `isWanted`, or absent. */
export function areOptionalItems(owner: Fields, name: string, isWanted: (item: Fields) => boolean): boolean {
  if (isAbsent(owner, name)) return true;
  const list = owner[name];
  return Array.isArray(list) && list.every((item: unknown) => isFields(item) && isWanted(item));
}

/** A part of the object that must itself be an object; anything else counts as absent and is deleted. */
export function section(object: Fields, name: string): Fields | undefined {
  const value = object[name];
  if (isFields(value)) return value;
  if (value !== undefined) delete object[name];
  return undefined;
}

export function keepOnly(owner: Fields, name: string, type: Plain): void {
  if (!isOptional(owner, name, type)) delete owner[name];
}

/** A map of strings. Entries of another type are deleted, the rest stays. */
export function keepStrings(owner: Fields, name: string): void {
  if (isAbsent(owner, name)) return;
  const map = owner[name];
  if (!isFields(map)) {
    delete owner[name];
    return;
  }
  for (const key in map) if (typeof map[key] !== "string") delete map[key];
}

/** A list of objects. Unusable items are deleted, the rest stays in order. */
export function keepItems(owner: Fields, name: string, usable: (item: Fields) => boolean): void {
  if (isAbsent(owner, name)) return;
  const list = owner[name];
  if (!Array.isArray(list)) {
    delete owner[name];
    return;
  }
  const kept = list.filter((item: unknown) => isFields(item) && usable(item));
  if (kept.length < list.length) owner[name] = kept;
}

/** A list of texts. Other items are deleted. */
export function keepTexts(owner: Fields, name: string): void {
  if (isAbsent(owner, name) || areTexts(owner[name])) return;
  const list: unknown = owner[name];
  if (Array.isArray(list)) owner[name] = list.filter(isText);
  else delete owner[name];
}

export function keepConditions(status: Fields): void {
  keepItems(status, "conditions", (condition) => {
    for (const name of ["reason", "message", "lastTransitionTime", "lastHeartbeatTime", "lastProbeTime"]) {
      keepOnly(condition, name, "string");
    }
    return isText(condition.type) && isText(condition.status);
  });
}
