/** A JSON object written and read by parts of this program; its members are checked where they are read. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Unknown members from a newer program; they are passed on, so that boards of two versions can alternate. */
export type Foreign = JsonRecord;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value if it is an object; otherwise an empty object. */
export const asRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

/** The object in a text; undefined if it holds none, or is longer than `longest` bytes. */
export function recordIn(text: string, longest = Number.POSITIVE_INFINITY): JsonRecord | undefined {
  if (Buffer.byteLength(text) > longest) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A member's name as a step of a JSON pointer (RFC 6901). */
export const pointerStep = (name: string): string => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** An own member; inherited ones (`constructor`, `toString`) do not count. */
export const memberOf = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
