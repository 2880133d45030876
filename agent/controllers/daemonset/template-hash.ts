import { isRawInteger } from "../../api/exact-integers.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../api/json.ts";
import { endsStep, mapEachInSteps, type Steps } from "../../base/steps.ts";

/** The characters of a hash. They do not include vowels, so that a hash never forms a word. */
const letters = "bcdfghjklmnpqrstvwxz2456789";

/**
 * Hash of a template: FNV-1a over its canonical text and the collision count, if any. It differs from
 * kube-controller-manager's hash, which depends on how Go prints structs. Both programs reuse the hash of a revision
 * with equal content, so each can take over from the other.
 */
export function* templateHash(template: unknown, collisions: number | undefined): Steps<string> {
  const text = new TextEncoder().encode(yield* canonicalJson(template));
  const count =
    collisions === undefined ? [] : [collisions, collisions >>> 8, collisions >>> 16, collisions >>> 24, 0, 0, 0, 0];
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ (text[at] ?? 0), 0x01000193);
    if (at % bytesTogether === bytesTogether - 1) yield;
  }
  for (const byte of count) hash = Math.imul(hash ^ (byte & 0xff), 0x01000193);
  const digits = String(hash >>> 0);
  return Array.from(digits, (digit) => letters[digit.charCodeAt(0) % letters.length]).join("");
}

/**
 * Canonical JSON: members sorted by name, as Go writes a map. null members are left out, because older servers wrote
 * `creationTimestamp: null` into every template.
 */
export function* canonicalJson(value: unknown): Steps<string> {
  // Builds the text without a sorted copy of the value, because a template may be as large as the API server admits.
  if (isJsonArray(value)) return `[${(yield* mapEachInSteps(value, canonicalJson)).join(",")}]`;
  if (!isJsonObject(value) || isRawInteger(value)) return JSON.stringify(plain(value));
  const members = yield* membersOf(value, function* (name, one) {
    return `${JSON.stringify(name)}:${yield* canonicalJson(one)}`;
  });
  return `{${members.join(",")}}`;
}

/** The value with its members sorted by name and without null members. */
export function* inOrder(value: unknown): Steps<JsonValue> {
  if (isJsonArray(value)) return yield* mapEachInSteps(value, inOrder);
  if (!isJsonObject(value) || isRawInteger(value)) return plain(value);
  const members = yield* membersOf(value, function* (name, one) {
    return [name, yield* inOrder(one)] as const;
  });
  return Object.fromEntries(members);
}

/** Applies `of` to the members that are not null, sorted by name. */
function* membersOf<R>(value: JsonObject, of: (name: string, one: JsonValue) => Steps<R>): Steps<R[]> {
  return yield* mapEachInSteps((yield* namesIn(value)).sort(), (name) => of(name, value[name] ?? null));
}

/** The names of the members that are not null. */
function* namesIn(value: JsonObject): Steps<string[]> {
  const names: string[] = [];
  for (const name of Object.keys(value)) {
    if (value[name] === null || value[name] === undefined) continue;
    if (endsStep(names.push(name))) yield;
  }
  return names;
}

const plain = (value: unknown): JsonValue =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" || isRawInteger(value)
    ? value
    : null;

/** Number of bytes hashed in one step. */
const bytesTogether = 65_536;

/**
 * Whether two values have the same canonical JSON. Raw integers are compared by their one member. The JSON is not
 * built, because a template may be large.
 */
export function* isSameContent(a: unknown, b: unknown): Steps<boolean> {
  if (isJsonArray(a)) return isJsonArray(b) && a.length === b.length && (yield* isSameAt(a.keys(), a, b));
  if (!isJsonObject(a)) return !isJsonArray(b) && !isJsonObject(b) && (a ?? null) === (b ?? null);
  if (!isJsonObject(b)) return false;
  const names = yield* namesIn(a);
  return names.length === (yield* namesIn(b)).length && (yield* isSameAt(names, a, b));
}

function* isSameAt<K extends string | number>(
  places: Iterable<K>,
  a: { readonly [Place in K]?: unknown },
  b: typeof a,
): Steps<boolean> {
  let count = 0;
  for (const place of places) {
    if (!Object.hasOwn(b, place)) return false;
    const [one, other] = [a[place], b[place]];
    // Compares with !== first, because most values are primitive, and creating a generator for each would take twice as
    // long.
    if (one !== other && !(yield* isSameContent(one, other))) return false;
    if (endsStep(count++)) yield;
  }
  return true;
}
