import { pageSize } from "../../storage/database.ts";
import { elapsed, type Instant, type Millis, shifted } from "../base/clock.ts";
import { boardOf } from "../board/identity.ts";
import type { MissingPermission } from "../client/permissions.ts";
import { type Hold, isRunning } from "../holds/holds.ts";
import type { InformerStats } from "../informer/informer-stats.ts";
import { ServerRestoredError } from "../informer/server-history.ts";
import type { ApiPart, HoldsPart, LeaderPart, Parts, ProblemPart, WatchPart } from "../status/parts.ts";
import type { AgentViews } from "../views.ts";
import { siteParts } from "./site-parts.ts";

/** The agent's parts of the status file. Pure. */
export function statusParts(views: AgentViews, now: Instant): Omit<Parts, "now" | "process" | "identity"> {
  const { controllers, cache, informers, isListening, rebuilt, conflicts, forbidden } = views;
  const watches = informers.map((stats) => watchPart(stats, isListening, now));
  return {
    leader: leaderPart(views, now),
    api: apiPart(views, now),
    watches,
    traffic: views.traffic.map(({ resource, verb, requests, up, down }) => ({
      resource,
      verb,
      requests,
      sentBytes: up,
      receivedBytes: down,
    })),
    ...siteParts(views, now),
    ...(controllers.length > 0 && { holds: holdsPart(views, now) }),
    controllers: controllers.map(({ name, state, queue, syncP95, errorsLastHour, lastError, waitsFor }) => ({
      name,
      state:
        state === "standby" || state === "paused"
          ? state
          : isFailing(lastError, forbidden, now)
            ? "failing"
            : "running",
      queue,
      syncP95,
      errors1h: errorsLastHour,
      lastError: waitsFor.length > 0 ? `waits for ${waitsFor.join(", ")}` : lastError?.message,
    })),
    journal: {
      path: cache.file,
      depth: informers.reduce((sum, { depth }) => sum + depth, 0),
      dbBytes: cache.fileBytes,
      walBytes: cache.walBytes,
      walExpected: largestLog(views.config.cache.sqlite),
    },
    ...(rebuilt && {
      rebuilt: {
        at: views.openedAt,
        why: rebuilt.message,
        ...(rebuilt instanceof ServerRestoredError && { restored: { hint: rebuilt.hint } }),
      },
    }),
    selectionConflicts: conflicts,
    problems: problemParts(views),
  };
}

/** A long list is written in large transactions, and the log holds at least one of them. */
const roomInLog = 4;

const largestLog = ({ walAutocheckpointPages, journalSizeLimitKiB }: AgentViews["config"]["cache"]["sqlite"]): number =>
  roomInLog * Math.max(walAutocheckpointPages * pageSize, journalSizeLimitKiB * 1024);

const quietLook: Millis = 60_000;

/** How long an error of a controller counts as news. */
const recent: Millis = 300_000;

/** Ignores errors caused by a missing permission: that is reported as a problem of its own. */
function isFailing(
  lastError: AgentViews["controllers"][number]["lastError"],
  forbidden: readonly MissingPermission[],
  now: Instant,
): boolean {
  if (lastError === undefined || elapsed(lastError.at, now) >= recent) return false;
  return !forbidden.some(({ verb, resource }) => lastError.message.includes(`cannot ${verb} resource "${resource}"`));
}

function leaderPart({ election, config }: AgentViews, now: Instant): LeaderPart {
  const { role, holder, term, since, leaseAge, leaseDuration, renewP95, missedRenewals, ended, identity } = election;
  // The Lease still names this board, whose term is over: another board may lead by now.
  const isPast = ended !== undefined && holder === identity;
  const nobody =
    holder === "" || isPast || (role !== "leader" && leaseAge !== undefined && leaseAge > 2 * leaseDuration);
  return {
    role: role === "leader" ? "leader" : "standby",
    holder: holder === undefined || nobody ? undefined : boardOf(holder),
    term: term ?? 0,
    since,
    renewed: leaseAge === undefined ? undefined : shifted(now, -leaseAge),
    duration: leaseDuration || config.leader.duration,
    ownDuration: config.leader.duration,
    renewP95: role === "leader" ? renewP95 : undefined,
    missedRenewals: role === "leader" ? missedRenewals : undefined,
    // A follower that sleeps until the term would end sees the Lease age: that alone says nothing about its holder.
    leaderlessSince: holder === "" ? since : undefined,
    ended: isPast || holder === "" ? ended : undefined,
  };
}

/** How long an outage stays in the status after its end. */
const oldOutage: Millis = 86_400_000;

function apiPart({ link, informers, heldSince }: AgentViews, now: Instant): ApiPart {
  const { state, since, rtt, lastHour, failure, lastOutage } = link;
  const reopened = informers.reduce((sum, { watches }) => sum + Math.max(0, watches - 1), 0);
  return {
    state,
    since,
    server: undefined,
    rtt,
    requests1h: lastHour.requests,
    failed1h: lastHour.failed,
    // In a process younger than an hour, the first opening of each watch is not a restart.
    restarts1h: Math.min(reopened, lastHour.watches),
    error: failure && { kind: failure.kind, message: failure.message, hint: failure.hint },
    lastOutage:
      lastOutage && elapsed(lastOutage.ended, now) < oldOutage
        ? { ...lastOutage, held: heldSince(lastOutage.began) }
        : undefined,
  };
}

function watchPart(
  { resource, live, synced, problem, heardAgo, lists, watches, rejected, objects, behind }: InformerStats,
  isListening: boolean,
  now: Instant,
): WatchPart {
  // A watch that was never heard is still being opened; if that fails, the informer reports why.
  const wasHeard = synced && heardAgo !== undefined;
  return {
    resource,
    state: !isListening ? "off" : live ? "live" : problem !== undefined ? "failing" : wasHeard ? "silent" : "syncing",
    objects,
    heard: heardAgo === undefined ? undefined : shifted(now, -heardAgo),
    behind,
    lists,
    lastList: undefined,
    restarts: Math.max(0, watches - 1),
    rejected: rejected.count,
    rejectedWhy: rejected.last,
  };
}

/** Only the leader knows the holds, since it has to honour them. */
function holdsPart({ holds, quiet }: AgentViews, now: Instant): HoldsPart {
  const running = <T extends Hold>(all: ReadonlyMap<string, T>): readonly (readonly [string, T])[] =>
    [...all].filter(([, hold]) => isRunning(hold, now));
  const told = ({ end, by, reason }: Hold) => ({ until: end, by, reason });
  return {
    freezes: running(holds.freezes).map(([, freeze]) => ({
      scope: freeze.scope,
      target: freeze.target,
      ...told(freeze),
    })),
    pauses: running(holds.pauses).map(([controller, pause]) => ({ controller, ...told(pause) })),
    confirmed: running(holds.confirmed).map(([target, hold]) => ({ target, ...told(hold) })),
    // An unknown end is checked again and again; until then, the next check counts as the end.
    quietUntil: quiet && (quiet.until ?? shifted(now, quietLook)),
  };
}

function problemParts(views: AgentViews): readonly ProblemPart[] {
  const { config, link, informers, election, setAside, forbidden } = views;
  const found: ProblemPart[] = forbidden.map(permissionProblem);
  const isTold = (resource: string, verbs: readonly string[], namespace?: string): boolean =>
    forbidden.some(
      (one) =>
        one.resource === resource.replace(/[.[].*/, "") &&
        verbs.includes(one.verb) &&
        (namespace === undefined || one.namespace === namespace),
    );
  for (const { resource, problem } of informers) {
    if (problem === undefined || link.state !== "up" || isTold(resource, ["list", "watch"])) continue;
    found.push({ type: "WatchFailing", subject: resource, severity: "warning", message: `${resource}: ${problem}` });
  }
  // An attempt that had no answer before the link came back ended with the outage, even if the next is yet to come.
  const isOver = election.lastError?.isOfLink && elapsed(election.lastError.at, link.since) >= 0;
  if (election.lastError && !isOver && link.state === "up" && !isTold("leases", leaseVerbs, config.leader.namespace)) {
    found.push({
      type: "ElectionFailing",
      severity: "warning",
      message: election.lastError.message,
      hint: election.lastError.hint,
    });
  }
  if (views.unseenSites.length > 0) {
    found.push({
      type: "SitesNotSeen",
      severity: "info",
      message: `whether another site claims the same boards is not known: its Lease may not be listed`,
      hint: `permit to list leases in namespace ${views.unseenSites.join(" and ")}`,
    });
  }
  if (election.namesake) {
    found.push({
      type: "IdentityCollision",
      severity: "critical",
      message: `another process writes the site's Lease under the name of this one, ${election.identity}`,
      hint: "look for a copy of this board that runs at the same time; restart the agent on one of the two",
    });
  }
  if (election.notStanding !== undefined) {
    found.push({
      type: "NotStanding",
      severity: "warning",
      message: `this board does not stand for election: ${election.notStanding}`,
    });
  }
  if (setAside) {
    const hint = "running toleration times started anew; the old file is kept for a look";
    found.push({
      type: "StateSetAside",
      severity: "warning",
      message: `state.db was damaged and is now ${setAside.file}`,
      hint,
    });
  }
  if (config.site.nodeSelector !== undefined && config.site.namespaceSelector === undefined) {
    found.push({
      type: "WorkloadsNotRun",
      severity: "info",
      message: "without site.namespaceSelector, controllers of workloads do not run for this site",
    });
  }
  return found;
}

const leaseVerbs = ["get", "create", "patch"];

/** In the words of a Role, so that a person can copy them. */
function permissionProblem({ user, verb, resource, group, namespace }: MissingPermission): ProblemPart {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  const kind = namespace === undefined ? "ClusterRole" : "Role or ClusterRole";
  return {
    type: "PermissionMissing",
    subject: `${verb} ${resource}${where}`,
    // Nothing in the agent depends on Events.
    severity: resource === "events" ? "warning" : "critical",
    message: `user ${user} may not ${verb} ${resource}${where}`,
    hint: `bind a ${kind} with apiGroups ["${group}"], resources ["${resource}"], verbs ["${verb}"]; the agent goes on trying`,
  };
}
