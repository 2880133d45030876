import { type Disposition, dispositionOf } from "./errors.ts";

/** From "nothing to do" to "nothing helps": of several errors of a pass, the gravest decides what follows. */
const gravity: readonly Disposition[] = ["done", "drop", "refresh", "relist", "retry", "rebuild", "exit"];

export function gravest(errors: readonly unknown[]): unknown {
  const grave = (error: unknown): number => gravity.indexOf(dispositionOf(error));
  return errors.reduce(
    (worst, error) => (worst === undefined || grave(error) > grave(worst) ? error : worst),
    undefined,
  );
}

/** What no further pass and no other term can mend: a restart, or a person, must. */
export const isFatal = (error: unknown): boolean => ["exit", "rebuild"].includes(dispositionOf(error));
