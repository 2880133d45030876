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
