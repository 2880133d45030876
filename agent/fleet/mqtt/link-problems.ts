import type { ProblemPart } from "../../status/parts.ts";

/** Problems of a link that is up, for the status: at most one of each type. */
export class LinkProblems {
  readonly #found = new Map<string, ProblemPart>();

  report(problem: ProblemPart): void {
    this.#found.set(problem.type, problem);
  }

  clear(type: string): void {
    this.#found.delete(type);
  }

  list(): readonly ProblemPart[] {
    return [...this.#found.values()];
  }
}
