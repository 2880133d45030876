import { elapsed, type Instant } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import type { ProblemPart } from "./parts.ts";

/** Which flags take the judgement of boards from kube-controller-manager, and from those who carry it inside. */
export const flagsAgainst = (manager: string): string => {
  const flag = "controllers=*,-node-lifecycle-controller,-taint-eviction-controller";
  if (manager.startsWith("k3s")) return `start k3s server with --kube-controller-manager-arg=${flag}`;
  if (manager === "kubelite") return `add --${flag} to the arguments of kube-controller-manager (microk8s)`;
  if (manager === "kube-controller-manager") return `start it with --${flag}`;
  return `turn off whatever writes as ${manager}`;
};

/** Two judges undo each other's work, and the other one evicts what this one would have spared. */
export const judgeProblem = (
  {
    manager,
    wrote,
    board,
    at,
  }: { readonly manager: string; readonly wrote: string; readonly board: string; readonly at: Instant },
  now: Instant,
): ProblemPart => ({
  type: "SecondJudge",
  subject: manager,
  severity: "critical",
  message: `${manager} judges the boards of this site too: it wrote ${wrote} of ${board} (seen ${formatDuration(elapsed(at, now))} ago)`,
  hint: `${flagsAgainst(manager)}; two judges undo each other's work, and it evicts without asking this site`,
});
