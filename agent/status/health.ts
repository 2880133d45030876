import { elapsed, type Millis } from "../base/clock.ts";
import { formatDuration } from "../base/duration.ts";
import { longestLease } from "../base/lease-timing.ts";
import { besideProblems } from "./beside-health.ts";
import { boardProblems } from "./board-problems.ts";
import { lagProblems } from "./judge-problems.ts";
import type { ApiProblem, Parts, ProblemPart, SelectionConflictPart } from "./parts.ts";
import type { Level } from "./schema.ts";

/** How long a rebuilt cache is reported, in milliseconds. */
const rebuiltIsNews = 3_600_000;
/** How long a restored server is reported as a warning, in milliseconds. */
const restoredIsNews = 900_000;

/** All problems, most severe first, one per cause: consequences of a dead link are not listed beside it. */
export function problems(parts: Parts): readonly ProblemPart[] {
  const found = [
    ...linkProblems(parts),
    ...leaderProblems(parts),
    ...watchProblems(parts),
    ...siteProblems(parts),
    ...boardProblems(parts),
    ...lagProblems(parts),
    ...ownProblems(parts),
    ...besideProblems(parts),
    ...(parts.problems ?? []),
  ];
  return found.sort((a, b) => rankOf(a) - rankOf(b));
}

/** A held or ended agent does nothing, whatever the state of its links: listed first. */
const rankOf = ({ type, severity }: ProblemPart): number =>
  type === "AgentHeld" || type === "AgentEnded" ? -1 : gravity[severity];

const gravity = { critical: 0, warning: 1, info: 2 } as const;

export function levelOf(found: readonly ProblemPart[]): Level {
  if (found.some(({ severity }) => severity === "critical")) return "critical";
  return found.some(({ severity }) => severity === "warning") ? "degraded" : "ok";
}

/** Ready: the API answers, the site has a leader, and on the leader all watches are live. */
export function isReady({ api, leader, watches = [] }: Parts): boolean {
  if (api?.state !== "up" || !leader?.holder) return false;
  return leader.role === "standby" || watches.every(({ state }) => state === "live");
}

function linkProblems({ api, now }: Parts): readonly ProblemPart[] {
  const error = api?.error;
  if (!api || !error || api.state === "up") return [];
  const since = api.state === "down" ? ` (for ${formatDuration(elapsed(api.since, now))})` : "";
  const { type, severity, hint } = linkTexts[error.kind];
  const meanwhile = api.state === "down" ? "; this board evicts nothing meanwhile, and pods keep running" : "";
  return [{ type, severity, message: `${error.message}${since}${meanwhile}`, hint: error.hint ?? hint }];
}

const linkTexts: Readonly<Record<ApiProblem["kind"], Pick<ProblemPart, "type" | "severity" | "hint">>> = {
  unreachable: {
    type: "ApiUnreachable",
    severity: "warning",
    hint: "check the link and the API server; the agent keeps trying",
  },
  credentials: {
    type: "CredentialsInvalid",
    severity: "critical",
    hint: "renew the credentials in the kubeconfig (siteward config explain api.kubeconfig)",
  },
  certificate: {
    type: "ServerNotTrusted",
    severity: "critical",
    hint: "check the kubeconfig's certificate authority, and this board's clock",
  },
  forbidden: {
    type: "PermissionMissing",
    severity: "critical",
    hint: "give the agent's user the permission named here",
  },
};

function leaderProblems({ leader, api, now }: Parts): readonly ProblemPart[] {
  // Without a link nothing is known about the leader: one problem, not two.
  if (!leader || leader.role === "leader" || api?.state !== "up") return [];
  const { leaderlessSince, renewed, ownDuration } = leader;
  const last = leaderlessSince ?? renewed;
  const without = last ? elapsed(last, now) : 0;
  const duration = Math.min(leader.duration, longestLease);
  if (without <= 2 * Math.min(duration, ownDuration) + slackOfFollowers) return [];
  if (without <= 2 * duration + slackOfFollowers) {
    const written = `it was written for ${formatDuration(duration)}, and no board takes it over before`;
    return [
      {
        type: "NoLeader",
        severity: "warning",
        message: `the site's Lease is not renewed for ${formatDuration(without)}: ${written}`,
        hint: `if its holder is gone, set its leaseDurationSeconds to 1; leader.duration is ${formatDuration(ownDuration)} here`,
      },
    ];
  }
  const why = leaderlessSince ? "nobody holds its Lease" : "its Lease is not renewed, and no board took it over";
  return [
    {
      type: "NoLeader",
      severity: "critical",
      message: `no board has led the site for ${formatDuration(without)}: ${why}`,
      hint: "run siteward status on the other boards",
    },
  ];
}

/** A follower that sleeps until the end of the observed term may be late by its retry period and jitter. */
const slackOfFollowers = 30_000;

/** A burst is applied within seconds. */
const toleratedBacklog: Millis = 60_000;

function watchProblems({ watches = [], api, now }: Parts): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  for (const { resource, state, heard, behind = 0, rejected, rejectedWhy } of watches) {
    if (state === "silent" && api?.state !== "down") {
      const silence = heard ? `silent for ${formatDuration(elapsed(heard, now))}` : "nothing heard yet";
      found.push({
        type: "WatchStalled",
        subject: resource,
        severity: "warning",
        message: `${resource}: ${silence}; nothing is concluded from silence meanwhile`,
        hint: "the agent opens it again by itself; if this stays, check the link",
      });
    }
    if (behind >= toleratedBacklog) {
      found.push({
        type: "CacheBehind",
        subject: resource,
        severity: "warning",
        message: `${resource}: received changes have been waiting for ${formatDuration(behind)}; until they are applied the controllers act on older objects`,
        hint: "more changes than this board can take in: siteward journal tail shows what waits, kubectl get --watch who writes it",
      });
    }
    if (rejected > 0) {
      const [last] = rejectedWhy.slice(-1);
      found.push({
        type: "ObjectsRejected",
        subject: resource,
        severity: "warning",
        message: `${resource}: ${rejected} could not be used${last ? `, the last: ${last}` : ""}`,
        hint: `look at these ${resource} with kubectl; siteward status --json names the last few`,
      });
    }
  }
  return found;
}

function siteProblems({ zones = [], eviction, selectionConflicts = [], now }: Parts): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  for (const { name, state, ready, nodes, rate } of zones) {
    if (state !== "PartialDisruption" && state !== "FullDisruption") continue;
    // Boards that report themselves not ready are still evicted while silent ones are held.
    const who = eviction?.held ? "evicting no silent board" : `evicting at ${rate}/s`;
    const pace = rate === 0 ? "evicting nothing" : who;
    found.push({
      type: "ZoneDisrupted",
      subject: name,
      severity: "warning",
      message: `${name}: ${state}, ${ready} of ${nodes} boards ready, ${pace}`,
      hint: "check power and network of the zone",
    });
  }
  if (eviction?.held) {
    const { why, since } = eviction.held;
    found.push({
      type: "QuarantineHold",
      severity: "warning",
      message: `no silent board is evicted for now: ${why} (for ${formatDuration(elapsed(since, now))})`,
      hint: "ends by itself",
    });
  }
  for (const conflict of selectionConflicts) {
    const { site, lease } = conflict;
    const [namespace, name] = lease.split("/");
    found.push({
      type: "SelectionConflict",
      subject: site,
      severity: "critical",
      message: `site ${site} was here first and claims ${claimed(conflict)}`,
      hint: `change site.nodeSelector or site.namespaceSelector of one of the two, or, if ${site} is no more: kubectl -n ${namespace} delete lease ${name}`,
    });
  }
  return found;
}

function claimed({ boards, some, namespaces }: SelectionConflictPart): string {
  const named = (names: readonly string[], of: number): string =>
    `${names.join(", ")}${of > names.length ? ", …" : ""}`;
  const found = [
    ...(boards > 0 ? [`${boards} of this site's boards too; nothing is done with them: ${named(some, boards)}`] : []),
    ...(namespaces === "every" ? ["every namespace; nothing is done with workloads"] : []),
    ...(typeof namespaces === "object"
      ? [
          `${namespaces.count} of this site's namespaces; nothing is done with their workloads: ${named(namespaces.some, namespaces.count)}`,
        ]
      : []),
  ];
  return found.join("; and ");
}

function ownProblems({ controllers = [], rebuilt, config, process, now }: Parts): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  for (const { name, state, lastError } of controllers) {
    if (state !== "failing") continue;
    const message = lastError ? `${name}: ${lastError}` : name;
    found.push({ type: "ControllerFailing", subject: name, severity: "warning", message, hint: "see the agent's log" });
  }
  if (rebuilt?.restored && elapsed(rebuilt.at, now) < restoredIsNews) {
    const ago = formatDuration(elapsed(rebuilt.at, now));
    found.push({
      type: "ServerRestored",
      severity: "warning",
      message: `${rebuilt.why}; ${ago} ago everything that was cached was thrown away; the board that leads lists it again`,
      hint: rebuilt.restored.hint,
    });
  } else if (rebuilt && elapsed(rebuilt.at, now) < rebuiltIsNews) {
    const ago = formatDuration(elapsed(rebuilt.at, now));
    found.push({
      type: "CacheRebuilt",
      severity: "info",
      message: `cache.db was made anew ${ago} ago: ${rebuilt.why}`,
    });
  }
  for (const warning of config?.warnings ?? [])
    found.push({ type: "ConfigSuspicious", subject: warning, severity: "info", message: warning });
  if (process.writeFailures > 0) {
    found.push({
      type: "StatusNotWritten",
      severity: "info",
      message: `this file could not be written ${process.writeFailures} times since the start`,
      hint: "check the space and the permissions of its folder",
    });
  }
  return found;
}
