/** A JSON object whose members are unchecked. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/**
 * Members that this version does not know, read from a record that a newer version wrote. They are written back, so
 * that boards of both versions can take turns writing it.
 */
export type UnknownFields = JsonRecord;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value if it is an object; otherwise an empty object. */
export const asRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

/**
 * None of our records is nested deeper. Foreign members are written back, and writing thousands of levels would
 * overflow the stack.
 */
const deepest = 64;

/** Parses a JSON object; undefined if the text is not one, is longer than `longest` bytes, or nests too deeply. */
export function recordIn(text: string, longest = Number.POSITIVE_INFINITY): JsonRecord | undefined {
  if (Buffer.byteLength(text) > longest || nestsTooDeeply(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function nestsTooDeeply(text: string): boolean {
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (sign === '"') isQuoted = !isQuoted;
    else if (isQuoted) {
      if (sign === "\\") at++;
    } else if (sign === "[" || sign === "{") {
      if (++depth > deepest) return true;
    } else if (sign === "]" || sign === "}") depth--;
  }
  return false;
}

/** A member's name as a step of a JSON pointer (RFC 6901). */
export const jsonPointerToken = (name: string): string => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** The members' names in a JSON pointer. */
export const jsonPointerTokens = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

/** The value of a member. Inherited properties (`constructor`, `toString`) are ignored. */
export const memberOf = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/**
 * The length of a plain value as JSON, in characters, not counting the escapes. Builds no text, and stops soon after
 * `most`.
 */
export function jsonLength(value: unknown, most = Number.POSITIVE_INFINITY): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 5;
  let length = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      length += 1 + jsonLength(item, most - length);
      if (length > most) break;
    }
    return length;
  }
  for (const name in value) {
    length += name.length + 4 + jsonLength(value[name as keyof typeof value], most - length);
    if (length > most) break;
  }
  return length;
}
