import { dispositionOf } from "../../base/errors.ts";
import type { Outcome } from "../../execution/actions.ts";

/**
 * What the API said to the first of these writes that it refused, for an Event. Not a word where somebody else was faster
 * (the next pass sees what he wrote), where nobody answered, and where the namespace is ending: it says so itself.
 */
export const refusalOf = (outcomes: readonly Outcome[]): string | undefined =>
  outcomes.flatMap((outcome) => (!outcome.ok && isWorthTelling(outcome.error) ? [outcome.error.message] : [])).at(0);

function isWorthTelling(error: Error): boolean {
  const answered = "status" in error && typeof error.status === "number" && error.status > 0;
  return answered && dispositionOf(error) !== "refresh" && !isEndOfNamespace(error);
}

const isEndOfNamespace = (error: Error): boolean =>
  "causes" in error &&
  Array.isArray(error.causes) &&
  error.causes.some((cause: unknown) => isCause(cause) && cause.reason === "NamespaceTerminating");

const isCause = (value: unknown): value is { readonly reason: unknown } =>
  typeof value === "object" && value !== null && "reason" in value;
