import type { HasDisposition } from "../../agent/base/errors.ts";

/** An invalid case, with all its problems. */
export class MalformedCase extends Error implements HasDisposition {
  override readonly name = "MalformedCase";
  readonly disposition = "exit";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** Problems found only when a step is run name the step. */
export const inStep = (index: number, error: unknown): unknown =>
  error instanceof MalformedCase
    ? new MalformedCase(error.problems.map((problem) => `case.steps[${index}]: ${problem}`))
    : error;
