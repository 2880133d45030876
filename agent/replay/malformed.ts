import type { Disposed } from "../base/errors.ts";

/** A case that cannot be understood: every problem at once. */
export class MalformedCase extends Error implements Disposed {
  override readonly name = "MalformedCase";
  readonly disposition = "exit";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}
