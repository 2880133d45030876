import { elapsed, type Instant } from "../base/clock.ts";
import { listed } from "../base/text/listed.ts";
import { formatDuration } from "../base/time/duration.ts";
import { sentence, timeOf } from "./board-problems.ts";
import type { Parts, ProblemPart } from "./parts.ts";

interface Failing {
  /** Verb and resource: "delete pods". */
  readonly kind: string;
  readonly since: Instant;
  readonly error: Error;
}

interface Late {
  /** When the term began. */
  readonly since: Instant;
  readonly loops: readonly { readonly names: readonly string[]; readonly waitFor: readonly string[] }[];
}

/** How to disable the other judge: the flags of kube-controller-manager in the distribution that `manager` names. */
export const flagsAgainst = (manager: string): string => {
  const off = "-node-lifecycle-controller,-taint-eviction-controller";
  // "+=" appends to k3s's own list, which "=" would replace.
  if (manager.startsWith("k3s")) return `start k3s server with --kube-controller-manager-arg=controllers+=${off}`;
  if (manager === "kubelite")
    return `add --controllers=*,${off} to the arguments of kube-controller-manager (microk8s)`;
  if (manager === "kube-controller-manager")
    return `add ${off} to the --controllers of kube-controller-manager; docs/operator.md has the form for kubeadm, k3s, RKE2, k0s and Talos`;
  return `turn off the controller that writes as ${manager}`;
};

/** The problem of a second judge: the two undo each other's writes, and the other one evicts by its own rules. */
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
  hint: `${flagsAgainst(manager)}; two judges undo each other's work, and ${manager} evicts pods even while evictions are held here. This is shown until a day after its last write, or until the agent restarts`,
  isOfSite: true,
});

/** The problem of a deaf leader: the API server answers it, but its watches of boards deliver nothing new. */
export const deafProblem = (since: Instant, now: Instant): ProblemPart => ({
  type: "LeaderDeaf",
  severity: "critical",
  message: `this board leads, and its watches of boards have delivered nothing new since ${timeOf(since, now)}, although the API server responds: boards that fall silent or return may go unnoticed`,
  hint: "if there is a standby, it takes over; look for a faulty API server: kubectl get --raw '/readyz?verbose' on each of them",
});

/** The problem of a leader that receives heartbeats, but whose requests of one kind all fail. */
export const unableProblem = ({ kind, since, error }: Failing, now: Instant): ProblemPart => ({
  type: "LeaderUnable",
  severity: "warning",
  message: `this board leads, and none of its requests to ${kind} has succeeded since ${timeOf(since, now)}: ${error.message}`,
  hint: "if the API server is at fault and there is a standby, it takes over; look for a faulty API server: kubectl get --raw '/readyz?verbose' on each of them",
});

/** The problem of a leader whose process does not run long enough at a time to judge boards. */
export const stutteringProblem = (since: Instant, now: Instant): ProblemPart => ({
  type: "LeaderStalls",
  severity: "warning",
  message: `this board leads, and its process has been stopped again and again since ${timeOf(since, now)}, for a second or longer: after each stop it judges no board for at least 2 s, so silent boards may go unnoticed`,
  hint: "check this board's load, its power and its SD card (dmesg), and CPUQuota= of the service; siteward cmd leader.step-down lets another board lead",
});

interface Isolated {
  /** How the other boards are reached: "eth0". */
  readonly path: string;
  readonly since: Instant;
}

/**
 * The problem of a leader that receives no answer on the LAN while boards are silent: it cannot tell which of them run.
 */
export const isolatedProblem = ({ path, since }: Isolated, now: Instant): ProblemPart => ({
  type: "LeaderIsolated",
  severity: "warning",
  message: `this board leads, and none of the boards that answered it on the LAN via ${path} before has done so since ${timeOf(since, now)}, nor has the gateway: silent boards that still run may lose their pods after judgement.unprovenHold`,
  hint: "if there is a standby, it takes over; check this board's network port, cable and switch, and its firewall",
});

/** The problem of a leader whose questions on the LAN running boards no longer answer. */
export const quietProblem = ({ path, since }: Isolated, now: Instant): ProblemPart => ({
  type: "LanQuiet",
  severity: "warning",
  message: `this board leads, and the boards that answered it on the LAN via ${path} before have not done so since ${timeOf(since, now)}, although they are running: if one loses its link to the API server, this board cannot tell whether it still runs`,
  hint: "check this board's network port, cable and switch, and the firewalls; siteward doctor tries the LAN",
});

/**
 * The problem of controllers that wait for their caches long after the beginning of a term, and do nothing until then.
 */
export const lateProblem = ({ since, loops }: Late, now: Instant): ProblemPart => ({
  type: "ControllersNotStarted",
  severity: "warning",
  message: `this board has led since ${timeOf(since, now)}, but some of its controllers have not started yet: ${loops
    .map(({ names, waitFor }) => `${names.join(", ")} (waiting for ${waitFor.join(", ")})`)
    .join("; ")}`,
  hint: "they start once this board has applied all changes from before its term; if that takes minutes, find out what changes these objects so often (kubectl get --watch), and check this board's load",
});

/** Reports the controllers that only would act, so that nobody relies on them. */
export const shadowProblems = (controllers: readonly string[]): readonly ProblemPart[] =>
  controllers.length === 0
    ? []
    : [
        {
          type: "ControllerShadowed",
          severity: "info",
          message: `${listed(controllers, controllers.length)} ${controllers.length === 1 ? "runs" : "run"} in shadow mode: what would be done is decided and recorded, and nothing is written, so another program has to do this work`,
          hint: "siteward why node/NODE shows what would have been done; before you set the mode to act, turn off the same controllers of kube-controller-manager (docs/operator.md)",
          isOfSite: true,
        },
      ];

/** A pass over the boards is reported if it is late by more periods than this. */
const latePeriods = 3;

/** A number of boards in words, rounded: the text is sent to the fleet at each change, and must not change with each board. */
function roughly(count: number): string {
  const step = [1, 2, 5].flatMap((digit) => [1, 10, 100, 1000, 10_000].map((power) => digit * power));
  const least = Math.max(0, ...step.filter((one) => one < count));
  return least < 1 ? `${count} silent board is` : `more than ${least} silent board${least === 1 ? " is" : "s are"}`;
}

/**
 * The problem that the judgement of boards is late: a pass cannot mark all silent boards within the request limit, or
 * the passes themselves are late. In shadow mode, only the latter is to be expected. Not reported while the API is
 * unreachable, because that is reported instead.
 */
export function lagProblems({ judgement, api, now }: Parts): readonly ProblemPart[] {
  if (judgement?.at === undefined || judgement.isPaused || api?.state !== "up") return [];
  const { at, period, unwritten, behindSince, qps, isShadowed } = judgement;
  const old = elapsed(at, now);
  const isBehind = behindSince !== undefined && elapsed(behindSince, now) >= period;
  const isLate = old > latePeriods * period;
  if (!isBehind && !isLate) return [];
  const facts = [
    ...(isBehind ? [`${roughly(unwritten)} not ${isShadowed ? "decided on" : "marked in the API"} yet`] : []),
    ...(isLate ? [`boards and zones were last judged at ${timeOf(at, now)}`] : []),
  ];
  return [
    {
      type: "NodeLifecycleBehind",
      severity: "warning",
      message: facts.join("; "),
      hint: isShadowed
        ? "check the load of this board: nothing is sent in shadow mode, so client.qps is not the cause"
        : `raise client.qps (now ${qps} per second) if the API server can take more; the most important boards are marked first`,
    },
  ];
}

/**
 * The problem of a site whose judgement an operator has paused. The zones and boards in the status are as old as the
 * last judgement; which boards have fallen silent since is unknown.
 */
export function pausedProblems({ judgement, now }: Parts): readonly ProblemPart[] {
  if (!judgement?.isPaused) return [];
  const since = judgement.at === undefined ? "in this term" : `since ${timeOf(judgement.at, now)}`;
  return [
    {
      type: "BoardsNotJudged",
      severity: "warning",
      message: `node-lifecycle is paused: no board has been judged ${since}; boards that have fallen silent or returned meanwhile are not noticed, and taints stay as they are`,
      hint: `to judge them again: siteward cmd controllers.resume '{"controller":"node-lifecycle"}' --reason TEXT; until then kubectl get lease -n kube-node-lease shows their heartbeats`,
    },
  ];
}

/**
 * The problem of a link that flaps: each outage begins a new grace period and a new quarantine, so a dead board may be
 * judged late or never (docs/judgement.md#links-that-flap).
 */
export function postponedProblems({ judgement, now }: Parts): readonly ProblemPart[] {
  if (judgement?.postponed === undefined || judgement.isPaused) return [];
  const { since, boards } = judgement.postponed;
  const who = sentence(boards, now, {
    one: "keeps its pods, because it could not be judged for long enough in between; silent since",
    several: "boards keep their pods, because they could not be judged for long enough in between; silent since",
  });
  return [
    {
      type: "JudgementPostponed",
      severity: "warning",
      message: `heartbeats have been interrupted again and again since ${timeOf(since, now)}: ${who}`,
      hint: "look for what interrupts the link or the API server; if all boards of a zone are dead: siteward cmd zone.confirm-dead; if a board is gone for good: kubectl delete node NODE",
    },
  ];
}
