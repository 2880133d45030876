import { elapsed, type Instant } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { timeOf } from "./board-problems.ts";
import type { Parts, ProblemPart } from "./parts.ts";

/** Flags that disable node lifecycle and taint eviction in kube-controller-manager and its distributions. */
export const flagsAgainst = (manager: string): string => {
  const off = "-node-lifecycle-controller,-taint-eviction-controller";
  // "+" appends to k3s's own list; without it that list is replaced.
  if (manager.startsWith("k3s")) return `start k3s server with --kube-controller-manager-arg=controllers+=${off}`;
  if (manager === "kubelite")
    return `add --controllers=*,${off} to the arguments of kube-controller-manager (microk8s)`;
  if (manager === "kube-controller-manager")
    return `add ${off} to its --controllers; operator.md has the form for kubeadm, k3s, RKE2, k0s and Talos`;
  return `turn off whatever writes as ${manager}`;
};

/** Two judges undo each other's writes, and the other one evicts pods that this one would have spared. */
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

/** More monitor periods than this without a verdict are not mere jitter. */
const latePeriods = 3;

/**
 * Rounded, because the text goes to the fleet: it changes a few times while the backlog shrinks, not with every board.
 */
function roughly(count: number): string {
  const step = [1, 2, 5].flatMap((digit) => [1, 10, 100, 1000, 10_000].map((power) => digit * power));
  const least = Math.max(0, ...step.filter((one) => one < count));
  return least < 1 ? `${count} silent board is` : `more than ${least} silent board${least === 1 ? " is" : "s are"}`;
}

/**
 * Reports that judging lags: more silent boards than the request allowance lets through in a pass, or late passes. Not
 * reported while the API is unreachable, which is then the problem.
 */
export function lagProblems({ judgement, api, now }: Parts): readonly ProblemPart[] {
  if (judgement?.at === undefined || judgement.isPaused || api?.state !== "up") return [];
  const { at, period, unwritten, behindSince, qps } = judgement;
  const old = elapsed(at, now);
  const isBehind = behindSince !== undefined && elapsed(behindSince, now) >= period;
  const isLate = old > latePeriods * period;
  if (!isBehind && !isLate) return [];
  const facts = [
    ...(isBehind ? [`${roughly(unwritten)} not marked in the API yet`] : []),
    ...(isLate ? [`boards and zones were last judged at ${timeOf(at, now)}`] : []),
  ];
  return [
    {
      type: "NodeLifecycleBehind",
      severity: "warning",
      message: facts.join("; "),
      hint: `raise client.qps (now ${qps} per second) if the API server can take more; the boards that matter most go first`,
    },
  ];
}
