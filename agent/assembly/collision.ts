import { elapsed, type Instant } from "../base/clock.ts";
import { boardOf } from "../board/identity.ts";
import type { ElectorView } from "../election/elector-view.ts";
import { collisionProblem } from "../status/collision-problem.ts";
import type { ProblemPart } from "../status/parts.ts";

type Election = Pick<ElectorView, "role" | "identity" | "holder" | "since" | "leaseAge" | "leaseDuration" | "namesake">;

/**
 * Whether another process that runs now leads under this board's name (docs/interfaces.md#two-boards-with-one-name).
 * The Lease may also name a process of this board that has ended, but then it no longer changes once a lease duration
 * has passed since this process first saw that holder.
 */
export function isLedByCopy(
  { role, identity, holder, since, leaseAge, leaseDuration }: Election,
  board: string,
  now: Instant,
): boolean {
  if (role === "leader" || holder === undefined || holder === identity || boardOf(holder) !== board) return false;
  if (since === undefined || leaseAge === undefined || leaseAge > 2 * leaseDuration) return false;
  return elapsed(since, now) - leaseAge >= leaseDuration;
}

/** The problem of two processes with one name, as far as the site's Lease shows it. */
export function collisionProblems(election: Election, board: string, now: Instant): readonly ProblemPart[] {
  const { namesake, identity, holder } = election;
  const isCopy = isLedByCopy(election, board, now);
  if (!namesake && !isCopy) return [];
  return [
    collisionProblem(
      namesake
        ? `another process writes the site's Lease under this agent's identity, ${identity}`
        : `another process with this board's name leads the site: the Lease names ${holder}, and this process is ${identity}`,
    ),
  ];
}
