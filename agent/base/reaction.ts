import { type Disposition, dispositionOf } from "./errors.ts";

/** All dispositions, from harmless to fatal. */
const gravity: readonly Disposition[] = ["done", "drop", "refresh", "relist", "retry", "rebuild", "exit"];

/** The error with the most severe disposition, by which a pass is handled; undefined if there are no errors. */
export function gravest(errors: readonly unknown[]): unknown {
  const grave = (error: unknown): number => gravity.indexOf(dispositionOf(error));
  return errors.reduce(
    (worst, error) => (worst === undefined || grave(error) > grave(worst) ? error : worst),
    undefined,
  );
}

/** True for errors that require a restart or an operator; more passes or terms would not help. */
export const isFatal = (error: unknown): boolean => ["exit", "rebuild"].includes(dispositionOf(error));
