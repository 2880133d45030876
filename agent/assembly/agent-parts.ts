import { pageSize } from "../../storage/database/database.ts";
import { nodes } from "../api/resources.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { formatDuration } from "../base/time/duration.ts";
import { boardOf } from "../board/identity.ts";
import type { ApiLinkView } from "../client/api-link.ts";
import type { MissingPermission } from "../client/permissions.ts";
import type { Config } from "../config/settings.ts";
import { shadowedControllers } from "../config/shadow-mode.ts";
import type { DecisionBook } from "../decisions/decision-book.ts";
import type { ElectorView } from "../election/elector-view.ts";
import type { QuietHours } from "../holds/hold-book.ts";
import { type Hold, type Holds, isRunning } from "../holds/holds.ts";
import type { InformerStats } from "../informer/informer-stats.ts";
import { afterRestore } from "../informer/server-history.ts";
import type { Loop } from "../leading/control-loops.ts";
import type { CurrentTerm } from "../leading/current-term.ts";
import { siteParts } from "../leading/site-parts.ts";
import type { TermWork } from "../leading/term-work.ts";
import {
  deafProblem,
  lateProblem,
  shadowProblems,
  stutteringProblem,
  unableProblem,
} from "../status/judge-problems.ts";
import type {
  AgentParts,
  ApiPart,
  ControllerPart,
  HoldsPart,
  LeaderPart,
  ProblemPart,
  WatchPart,
} from "../status/parts.ts";
import { collisionProblems } from "./collision.ts";
import type { Edges } from "./edges.ts";
import type { Election } from "./election.ts";
import type { Execution } from "./execution.ts";
import type { SiteCaches } from "./site-caches.ts";
import type { SiteConnection } from "./site-connection.ts";
import { type LanWitness, lanPart, witnessProblems } from "./witness.ts";

export interface ReportedAgent
  extends Pick<Edges, "config" | "folder" | "rebuilt">,
    Pick<SiteConnection, "link" | "permissions" | "traffic" | "history">,
    Pick<Election, "elector" | "holds" | "valve">,
    Pick<SiteCaches, "informers" | "caches" | "claims" | "home">,
    Pick<Execution, "executor" | "limits"> {
  readonly current: CurrentTerm;
  readonly decisions: Pick<DecisionBook, "heldCounts" | "boardsHeldBy">;
  readonly witness: LanWitness | undefined;
  readonly work: Pick<TermWork, "deafSince" | "stutteringSince" | "failing" | "late" | "waitsFor" | "heldDuring">;
  readonly openedAt: Instant;
}

/** The agent's parts of the status. */
export function agentParts(agent: ReportedAgent, now: Instant): AgentParts {
  const { config, folder, current, claims, home, permissions, traffic, openedAt } = agent;
  const { database, rebuilt = agent.rebuilt } = folder.cache;
  const election = agent.elector.view();
  const link = agent.link.view();
  const informers = agent.informers.stats();
  const forbidden = permissions.missing();
  const sizes = database.sizes();
  const holds = agent.holds.ordered;
  const quiet = election.role === "leader" ? agent.holds.quiet(now) : undefined;
  const controllers = current.loops.map((loop) => controllerPart(loop, agent.work.waitsFor(loop.name), now));
  return {
    leader: leaderPart(election, config),
    api: apiPart(link, agent, informers, now),
    watches: informers.map((stats) => watchPart(stats, home.isListening)),
    traffic: traffic.snapshot().map(({ resource, verb, requests, up, down }) => ({
      resource,
      verb,
      requests,
      sentBytes: up,
      receivedBytes: down,
    })),
    ...siteParts(
      {
        ...agent,
        holds,
        quiet,
        watches: informers,
        controllers,
        nodes: () => agent.caches.informer(nodes).lister.list(),
      },
      now,
    ),
    ...(agent.witness && current.site && { lan: lanPart(agent.witness, current.otherBoards(config.board.node), now) }),
    ...(current.isActing && { holds: holdsPart(holds, quiet, now) }),
    controllers,
    journal: {
      path: database.file,
      depth: informers.reduce((sum, { depth }) => sum + depth, 0),
      dbBytes: sizes.file,
      walBytes: sizes.wal,
      walExpected: largestLog(config),
    },
    ...(rebuilt && {
      rebuilt: {
        at: openedAt,
        why: rebuilt.cause instanceof Error ? `${rebuilt.message} (${rebuilt.cause.message})` : rebuilt.message,
      },
    }),
    ...(agent.history.mayBeFormer && { restored: { hint: afterRestore } }),
    selectionConflicts: current.isActing ? claims.conflicts() : [],
    problems: problemParts(agent, { election, link, informers, forbidden, now }),
  };
}

/**
 * The write-ahead log may be this many times as large as the configured size, because a long list is written in large
 * transactions, and the log holds at least one of them.
 */
const roomInLog = 4;

const largestLog = ({ cache: { sqlite } }: Config): number =>
  roomInLog * Math.max(sqlite.walAutocheckpointPages * pageSize, sqlite.journalSizeLimitKiB * 1024);

const quietLook: Millis = 60_000;

/** How long an error of a controller counts as a failure. */
const recent: Millis = 300_000;

/** How a controller that runs without errors is shown. */
const runningAs = { starting: "running", running: "running", shadow: "shadow" } as const;

export function controllerPart(loop: Pick<Loop, "stats">, waitsFor: readonly string[], now: Instant): ControllerPart {
  const { name, state, queue, syncP95, errorsLastHour, lastError } = loop.stats(now);
  // Errors caused by a missing permission do not count, because the permission is reported separately, and only until
  // it is granted.
  const isFailing = lastError !== undefined && lastError.missing === undefined && elapsed(lastError.at, now) < recent;
  return {
    name,
    state: state === "standby" || state === "paused" ? state : isFailing ? "failing" : runningAs[state],
    queue,
    syncP95Ms: syncP95,
    errors1h: errorsLastHour,
    lastError: state === "standby" && waitsFor.length > 0 ? `waits for ${waitsFor.join(", ")}` : lastError?.message,
  };
}

function leaderPart(election: ElectorView, config: Config): LeaderPart {
  const {
    role,
    holder,
    formerHolder,
    isFree,
    term,
    since,
    leaseAge,
    leaseDuration,
    renewP95,
    missedRenewals,
    ended,
    identity,
  } = election;
  // The Lease still names this board, but its term has ended, and another board may lead by now.
  const isPast = ended !== undefined && holder === identity;
  const isVacant = isFree || isPast || (role !== "leader" && leaseAge !== undefined && leaseAge > 2 * leaseDuration);
  return {
    role: role === "leader" ? "leader" : "standby",
    holder: holder === undefined || isVacant ? undefined : boardOf(holder),
    term: term ?? 0,
    since,
    previous: formerHolder && boardOf(formerHolder),
    leaseAgeMs: leaseAge,
    leaseDurationMs: leaseDuration || config.leader.duration,
    ownDuration: config.leader.duration,
    renewP95Ms: role === "leader" ? renewP95 : undefined,
    missedRenewals: role === "leader" ? missedRenewals : undefined,
    // A follower that sleeps until the term would end sees the Lease grow old, so the age alone says nothing about the
    // holder.
    leaderlessSince: isFree ? since : undefined,
    ended: isPast || isFree ? ended : undefined,
  };
}

/** How long an outage is shown in the status after its end. */
const oldOutage: Millis = 86_400_000;

function apiPart(
  { state, since, rtt, lastHour, answeredAt, failure, lastOutage }: ApiLinkView,
  { work }: ReportedAgent,
  informers: readonly InformerStats[],
  now: Instant,
): ApiPart {
  const reopened = informers.reduce((sum, { watches }) => sum + Math.max(0, watches - 1), 0);
  return {
    state,
    since,
    rttP50Ms: rtt?.p50,
    rttP95Ms: rtt?.p95,
    requests1h: lastHour.requests,
    failed1h: lastHour.failed,
    answeredMs: answeredAt && elapsed(answeredAt, now),
    // In a process younger than an hour, the first opening of each watch is not a restart.
    restarts1h: Math.min(reopened, lastHour.watches),
    error: failure && { kind: failure.kind, message: failure.message, hint: failure.hint },
    lastOutage: lastOutage && elapsed(lastOutage.endedAt, now) < oldOutage ? outagePart(lastOutage, work) : undefined,
  };
}

function outagePart(
  outage: NonNullable<ApiLinkView["lastOutage"]>,
  work: ReportedAgent["work"],
): ApiPart["lastOutage"] {
  const { number, startedAt, endedAt, kind } = outage;
  const held = work.heldDuring(outage);
  return {
    number,
    from: startedAt,
    to: endedAt,
    why: kind,
    ...(held && { boardsHeld: held.boards, podsHeld: held.pods }),
  };
}

function watchPart(
  { resource, live, synced, problem, receivedAgo, lists, watches, rejected, objects, behind }: InformerStats,
  isListening: boolean,
): WatchPart {
  // A watch that has never received anything is still being opened; if that fails, the informer reports the reason.
  const hasReceived = synced && receivedAgo !== undefined;
  return {
    resource,
    state: !isListening
      ? "off"
      : live
        ? "live"
        : problem !== undefined
          ? "failing"
          : hasReceived
            ? "silent"
            : "syncing",
    objects,
    heardMs: receivedAgo,
    behindMs: behind,
    lists,
    restarts: Math.max(0, watches - 1),
    rejected: rejected.count,
    rejectedWhy: rejected.last,
  };
}

/** Only the leader reports the holds, because it must honour them. */
function holdsPart(holds: Holds, quiet: QuietHours | undefined, now: Instant): HoldsPart {
  const running = <T extends Hold>(all: ReadonlyMap<string, T>): readonly (readonly [string, T])[] =>
    [...all].filter(([, hold]) => isRunning(hold, now));
  const origin = ({ end, by, reason }: Hold) => ({ until: end, by, reason });
  return {
    freezes: running(holds.freezes).map(([, freeze]) => ({
      scope: freeze.scope,
      target: freeze.target,
      ...origin(freeze),
    })),
    pauses: running(holds.pauses).map(([controller, pause]) => ({ controller, ...origin(pause) })),
    confirmed: running(holds.confirmed).map(([target, hold]) => ({ target, ...origin(hold) })),
    ...(holds.release && isRunning(holds.release, now) && { release: origin(holds.release) }),
    // If the end of the quiet hours is not known yet, it is checked again later, and the next check counts as the end
    // until then.
    quietUntil: quiet && (quiet.until ?? shifted(now, quietLook)),
  };
}

function problemParts(
  { config, claims, current, work, witness }: ReportedAgent,
  {
    election,
    link: { state, since },
    informers,
    forbidden,
    now,
  }: {
    readonly election: ElectorView;
    readonly link: ApiLinkView;
    readonly informers: readonly InformerStats[];
    readonly forbidden: readonly MissingPermission[];
    readonly now: Instant;
  },
): readonly ProblemPart[] {
  const found: ProblemPart[] = [...forbidden.map(permissionProblem), ...witnessProblems(witness, now)];
  const deafSince = work.deafSince(now);
  if (deafSince !== undefined) found.push(deafProblem(deafSince, now));
  const failing = work.failing(now);
  if (failing !== undefined) found.push(unableProblem(failing, now));
  const stutteringSince = work.stutteringSince(now);
  if (stutteringSince !== undefined) found.push(stutteringProblem(stutteringSince, now));
  const late = work.late(now);
  if (late !== undefined) found.push(lateProblem(late, now));
  const isTold = (resource: string, verbs: readonly string[], namespace?: string): boolean =>
    forbidden.some(
      (one) =>
        one.resource === resource.replace(/[.[].*/, "") &&
        verbs.includes(one.verb) &&
        (namespace === undefined || one.namespace === namespace),
    );
  for (const { resource, problem } of informers) {
    if (problem === undefined || state !== "up" || isTold(resource, ["list", "watch"])) continue;
    found.push({ type: "WatchFailing", subject: resource, severity: "warning", message: `${resource}: ${problem}` });
  }
  // A request that failed before the link recovered says nothing about its current state, even if none has been sent
  // since.
  const isOver = election.lastError?.isOfLink && elapsed(election.lastError.at, since) >= 0;
  if (election.fruitless !== undefined && state === "up") {
    found.push({
      type: "ElectionFailing",
      severity: "warning",
      message: `this board does not lead: ${election.fruitless}`,
      hint: "check the link and the API server; if this continues, the board leaves the Lease to others for a while",
    });
  } else if (
    election.lastError &&
    !isOver &&
    state === "up" &&
    !isTold("leases", leaseVerbs, config.leader.namespace)
  ) {
    found.push({
      type: "ElectionFailing",
      severity: "warning",
      message: election.lastError.message,
      hint: election.lastError.hint,
    });
  }
  if (current.isActing) found.push(...shadowProblems(shadowedControllers(config)));
  if (current.isActing && claims.unseen.length > 0) {
    found.push({
      type: "SitesNotSeen",
      severity: "info",
      message:
        "another site may claim the same boards: this agent lacks the permission to list the Leases of other sites",
      hint: `allow this agent to list Leases in ${claims.unseen.join(" and ")}`,
      isOfSite: true,
    });
  }
  found.push(...collisionProblems(election, config.board.name, now));
  found.push(...standingProblems(election, state, now));
  if (config.site.nodeSelector !== undefined && config.site.namespaceSelector === undefined) {
    found.push({
      type: "WorkloadsNotRun",
      severity: "info",
      message: "without site.namespaceSelector, controllers of workloads do not run for this site",
    });
  }
  return found;
}

/** Reports that this board does not stand for election; this is only informational if an operator ordered it. */
export function standingProblems(
  {
    notStanding,
    orderedUntil,
    isLeaderless,
    isFree,
    holder,
    identity,
  }: Pick<ElectorView, "notStanding" | "orderedUntil" | "isLeaderless" | "isFree" | "holder" | "identity">,
  link: ApiLinkView["state"],
  now: Instant,
): readonly ProblemPart[] {
  if (notStanding === undefined) return [];
  const isOrdered = orderedUntil !== undefined;
  const time = isOrdered ? ` for ${formatDuration(elapsed(now, orderedUntil))} more` : "";
  const isUnknown = link !== "up" || (holder === undefined && !isFree && !isLeaderless);
  // Right after this board released the Lease, it has not read yet whether another one has taken it.
  const isLedByOther = !isLeaderless && holder !== undefined && holder !== identity;
  const known = isLedByOther ? "another board is leading" : "no other board has taken the Lease yet";
  const meanwhile = isUnknown ? "this board does not know at present whether another one leads" : known;
  // Once the Lease has been read as free, `orderedUntil` is the time at which the order counts as pointless.
  const end = isLeaderless && !isUnknown ? "at that time" : "earlier";
  const ending =
    isLedByOther && !isUnknown
      ? "this board will then stand again by itself"
      : `if none does, this board stands for election again ${end}`;
  return [
    {
      type: "NotStanding",
      severity: isOrdered ? "info" : "warning",
      message: `this board does not stand for election${time}: ${notStanding}`,
      hint: isOrdered
        ? `as ordered: ${meanwhile}; ${ending}`
        : `${meanwhile}; this board will stand again once the cause is gone`,
    },
  ];
}

const leaseVerbs = ["get", "create", "patch"];

/** Describes a missing permission in the words of a Role, so that an operator can copy them. */
function permissionProblem({ user, verb, resource, group, namespace }: MissingPermission): ProblemPart {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  const kind = namespace === undefined ? "ClusterRole" : "Role or ClusterRole";
  return {
    type: "PermissionMissing",
    subject: `${verb} ${resource}${where}`,
    // Nothing in the agent depends on Events.
    severity: resource === "events" ? "warning" : "critical",
    message: `user ${user} is not allowed to ${verb} ${resource}${where}`,
    hint: `bind a ${kind} with apiGroups ["${group}"], resources ["${resource}"], verbs ["${verb}"]; the agent keeps trying`,
  };
}
