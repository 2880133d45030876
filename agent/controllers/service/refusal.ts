import { dispositionOf } from "../../base/errors.ts";
import type { Outcome } from "../../execution/actions.ts";

/**
 * The API's message about the first write that it refused, for an Event; undefined if it refused none. Conflicts,
 * missing responses and refusals because the namespace is terminating are not reported.
 */
export const refusalOf = (outcomes: readonly Outcome[]): string | undefined =>
  outcomes.flatMap((outcome) => (!outcome.ok && isReported(outcome.error) ? [outcome.error.message] : [])).at(0);

function isReported(error: Error): boolean {
  const answered = "status" in error && typeof error.status === "number" && error.status > 0;
  return answered && dispositionOf(error) !== "refresh" && !isEndOfNamespace(error);
}

const isEndOfNamespace = (error: Error): boolean =>
  "causes" in error &&
  Array.isArray(error.causes) &&
  error.causes.some((cause: unknown) => isCause(cause) && cause.reason === "NamespaceTerminating");

const isCause = (value: unknown): value is { readonly reason: unknown } =>
  typeof value === "object" && value !== null && "reason" in value;
