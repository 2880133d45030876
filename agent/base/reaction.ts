import { type Disposition, dispositionOf } from "./errors.ts";

/** From harmless to fatal: of several errors in a pass, the gravest decides the reaction. */
const gravity: readonly Disposition[] = ["done", "drop", "refresh", "relist", "retry", "rebuild", "exit"];

export function gravest(errors: readonly unknown[]): unknown {
  const grave = (error: unknown): number => gravity.indexOf(dispositionOf(error));
  return errors.reduce(
    (worst, error) => (worst === undefined || grave(error) > grave(worst) ? error : worst),
    undefined,
  );
}

/** True for errors that no further pass or term can repair: only a restart or an operator can. */
export const isFatal = (error: unknown): boolean => ["exit", "rebuild"].includes(dispositionOf(error));
