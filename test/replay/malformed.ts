import type { HasDisposition } from "../../agent/base/errors.ts";

/** A case that cannot be understood: every problem at once. */
export class MalformedCase extends Error implements HasDisposition {
  override readonly name = "MalformedCase";
  readonly disposition = "exit";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** What only shows when a step happens is told with its place. */
export const inStep = (index: number, error: unknown): unknown =>
  error instanceof MalformedCase
    ? new MalformedCase(error.problems.map((problem) => `case.steps[${index}]: ${problem}`))
    : error;
