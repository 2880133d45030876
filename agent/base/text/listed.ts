/** Joins the shown items and counts the rest of `count`: "a, b, and 3 more". */
export function listed(shown: readonly string[], count: number, separator = ", "): string {
  const rest = count - shown.length;
  return `${shown.join(separator)}${rest > 0 ? `${separator}and ${rest} more` : ""}`;
}
