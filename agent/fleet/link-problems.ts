import type { ProblemPart } from "../status/parts.ts";

/** What is wrong with the fleet's link although it is up, for the status: one of each type, until it is over. */
export class LinkProblems {
  readonly #found = new Map<string, ProblemPart>();

  tell(problem: ProblemPart): void {
    this.#found.set(problem.type, problem);
  }

  over(type: string): void {
    this.#found.delete(type);
  }

  list(): readonly ProblemPart[] {
    return [...this.#found.values()];
  }
}
