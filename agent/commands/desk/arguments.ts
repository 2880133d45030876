import { jsonPointerToken } from "../../base/json.ts";
import { predicateOf, read, type Schema } from "../../base/schema.ts";

export interface ArgumentProblem {
  /** A JSON pointer: "/args/ttl". */
  readonly field: string;
  readonly message: string;
}

/** Parses a value by a schema. `at`: the JSON pointer of the value; a problem's `field` begins with it. */
export function readArguments<T>(
  schema: Schema<T>,
  value: unknown,
  at: string,
): { readonly value: T } | { readonly problem: ArgumentProblem } {
  const found = read(schema, value);
  if ("value" in found) return found;
  const { problem } = found;
  // Names are shortened to a readable length.
  const field = at + problem.path.map((step) => jsonPointerToken(String(step).slice(0, 64))).join("");
  return { problem: { field, message: predicateOf(problem) } };
}
