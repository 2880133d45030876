import { isDeepStrictEqual } from "node:util";

/** A rule that the server breaks: the request, the expected and the actual answer. */
export class Unmet extends Error {
  override readonly name = "Unmet";

  constructor(request: string, expected: string, came: string) {
    super(`\n  request:  ${request}\n  expected: ${expected}\n  came:     ${came}`);
  }
}

/** A rule that cannot be checked on this server, with the reason. */
export class NotChecked extends Error {
  override readonly name = "NotChecked";
}

/** Compares JSON values without regard to the order of members. */
export function same(request: string, what: string, actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) throw new Unmet(request, `${what}: ${shown(expected)}`, shown(actual));
}

export function holds(request: string, expected: string, actual: unknown, condition: boolean): asserts condition {
  if (!condition) throw new Unmet(request, expected, shown(actual));
}

/** A value shortened for people: an answer may be megabytes. */
export function shown(value: unknown, longest = 1200): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length <= longest ? text : `${text.slice(0, longest)}… (${text.length} characters)`;
}
