/** A JSON object as the parts of this program make and read them; what is inside is checked where it is read. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** What a newer program wrote besides; it is handed on, so that boards of two versions can follow each other. */
export type Foreign = JsonRecord;

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The value, if it is an object; else one without members. */
export const asRecord = (value: unknown): JsonRecord => (isRecord(value) ? value : {});

/** The object that a text holds; undefined: it holds none, or has more bytes. */
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

/** An own member: what an object inherits (`constructor`, `toString`) is none. */
export const memberOf = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
