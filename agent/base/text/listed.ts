/** The texts that are shown of `count`, as a list: "a, b, and 3 more". */
export function listed(shown: readonly string[], count: number, separator = ", "): string {
  const rest = count - shown.length;
  return `${shown.join(separator)}${rest > 0 ? `${separator}and ${rest} more` : ""}`;
}
