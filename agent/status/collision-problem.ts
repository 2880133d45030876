import type { ProblemPart } from "./parts.ts";

const hint =
  "look for a board with a copied card, or for a second agent on this board; give one of the two another name and an empty state folder";

/** The problem of two processes with the name of this board. */
export const collisionProblem = (message: string): ProblemPart => ({
  type: "IdentityCollision",
  severity: "critical",
  message,
  hint,
});
