import { jsonText } from "../../agent/base/text/terminal-text.ts";
/** The outcome of a case: plain data. Undefined members count as missing. */
export type Outcome = Readonly<Record<string, unknown>>;

/** The outcome as the command prints it: equal outcomes give equal texts, in whatever order things were found. */
export const printOutcome = (outcome: Outcome): string => `${jsonText(canonical(outcome), 2)}\n`;

/** Members in the order of their names; Maps as objects, Sets as lists. A number that JSON cannot hold becomes a text. */
export function canonical(value: unknown): unknown {
  if (value instanceof Map) return canonical(Object.fromEntries(value));
  if (value instanceof Set) return [...value].map(canonical);
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => [name, canonical(one)]),
  );
}
