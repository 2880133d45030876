import type { ProblemPart } from "../status/parts.ts";

/** Problems of a link that is up, for the status: one per type, until it is solved. */
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
