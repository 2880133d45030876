import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { maxLeaseDuration } from "../base/lease-timing.ts";
import { counted } from "../base/text/counted.ts";
import { countedHeld } from "../base/text/held-count.ts";
import { formatDuration } from "../base/time/duration.ts";
import { besideProblems, holdProblems } from "./beside-health.ts";
import { boardProblems, clockTime, timeOf } from "./board-problems.ts";
import { lagProblems, pausedProblems, postponedProblems } from "./judge-problems.ts";
import type { ApiProblem, Parts, ProblemPart, SelectionConflictPart, ValvePart, ZonePart } from "./parts.ts";
import type { StatusLevel } from "./schema.ts";

/** Time for which a rebuilt cache is reported, in milliseconds. */
const rebuiltIsNews = 3_600_000;

/** All problems, most severe first. The consequences of a broken link are not listed separately. */
export function problems(parts: Parts): readonly ProblemPart[] {
  const found = [
    ...linkProblems(parts),
    ...leaderProblems(parts),
    ...watchProblems(parts),
    ...ofSite(
      pausedProblems(parts),
      siteProblems(parts),
      boardProblems(parts),
      lagProblems(parts),
      postponedProblems(parts),
      holdProblems(parts),
    ),
    ...ownProblems(parts),
    ...besideProblems(parts),
    ...(parts.problems ?? []),
  ];
  return found.sort((a, b) => rankOf(a) - rankOf(b));
}

const ofSite = (...found: readonly (readonly ProblemPart[])[]): readonly ProblemPart[] =>
  found.flat().map((problem) => ({ ...problem, isOfSite: true }));

/**
 * Sort key. An agent that is held or has ended comes first, because it does nothing, so its other problems do not
 * matter.
 */
const rankOf = ({ type, severity }: ProblemPart): number =>
  type === "AgentHeld" || type === "AgentEnded" ? -1 : gravity[severity];

const gravity = { critical: 0, warning: 1, info: 2 } as const;

export function levelOf(found: readonly ProblemPart[]): StatusLevel {
  if (found.some(({ severity }) => severity === "critical")) return "critical";
  return found.some(({ severity }) => severity === "warning") ? "degraded" : "ok";
}

/** Ready: the API answers, the site has a leader, and on the leader all watches are live. */
export function isReady({ api, leader, watches = [] }: Parts): boolean {
  if (api?.state !== "up" || !leader?.holder) return false;
  return leader.role === "standby" || watches.every(({ state }) => state === "live");
}

function linkProblems({ api, clock, now }: Parts): readonly ProblemPart[] {
  const error = api?.error;
  if (!api || !error || api.state === "up") return [];
  const since = api.state === "down" ? ` (for ${formatDuration(elapsed(api.since, now))})` : "";
  const { type, severity, until, hint } = linkTexts[error.kind];
  const meanwhile = api.state === "down" ? `; ${until}, this board evicts nothing, and pods keep running` : "";
  const next = error.hint ?? hint;
  return [
    {
      type,
      severity,
      message: `${error.message}${since}${meanwhile}`,
      hint: severity === "critical" && clock?.state === "unsynced" ? `${clockFirst}; then: ${next}` : next,
    },
  ];
}

/** If the clock is wrong, valid certificates and tokens appear invalid, and renewing them does not help. */
const clockFirst =
  "this board's clock has not been set since boot: compare it with date -u; set it, or wait until it is synchronised (timedatectl timesync-status)";

interface LinkText extends Pick<ProblemPart, "type" | "severity"> {
  /** The time in which this board evicts nothing, as a clause. */
  readonly until: string;
  readonly hint: string;
}

const linkTexts: Readonly<Record<ApiProblem["kind"], LinkText>> = {
  unreachable: {
    type: "ApiUnreachable",
    severity: "warning",
    until: "while the link is down",
    hint: "check the link and the API server; the agent keeps trying",
  },
  credentials: {
    type: "CredentialsInvalid",
    severity: "critical",
    until: "until they are accepted",
    hint: "renew the credentials in the kubeconfig (siteward config explain api.kubeconfig)",
  },
  certificate: {
    type: "ServerNotTrusted",
    severity: "critical",
    until: "until it is trusted",
    hint: "check the kubeconfig's certificate authority, and this board's clock",
  },
  forbidden: {
    type: "PermissionMissing",
    severity: "critical",
    until: "until it is granted",
    hint: "grant the agent's user this permission",
  },
};

function leaderProblems({ leader, api, now }: Parts): readonly ProblemPart[] {
  // Without a link, nothing is known about the leader, and the link itself is the problem.
  if (!leader || leader.role === "leader" || api?.state !== "up") return [];
  const { leaderlessSince, leaseAgeMs = 0, ownDuration } = leader;
  const without = leaderlessSince ? elapsed(leaderlessSince, now) : leaseAgeMs;
  // A leader that releases the Lease sets its duration to one second, which does not say when followers read it next.
  const duration = leaderlessSince ? ownDuration : Math.min(leader.leaseDurationMs, maxLeaseDuration);
  if (without <= Math.min(duration, ownDuration) + slackOfFollowers) return [];
  if (without <= 2 * Math.min(duration, ownDuration) + slackOfFollowers) {
    const what = leaderlessSince
      ? "no board holds the site's Lease"
      : "the holder of the site's Lease does not renew it";
    return [
      {
        type: "NoLeader",
        severity: "warning",
        message: `${what} (for ${formatDuration(without)} now), and the site has no leader until a board acquires the Lease`,
        hint: "this takes up to two lease durations; if the problem persists, run siteward status on the other boards",
      },
    ];
  }
  if (without <= 2 * duration + slackOfFollowers) {
    const written = `its holder set a duration of ${formatDuration(duration)}, and no board takes the Lease over before that time has passed`;
    return [
      {
        type: "NoLeader",
        severity: "warning",
        message: `the site's Lease has not been renewed for ${formatDuration(without)}: ${written}`,
        hint: `if the holder is gone, set leaseDurationSeconds of the site's Lease to 1; leader.duration is ${formatDuration(ownDuration)} here`,
      },
    ];
  }
  const why = leaderlessSince
    ? "no board holds the site's Lease"
    : "the site's Lease has not been renewed, and no board has taken it over";
  return [
    {
      type: "NoLeader",
      severity: "critical",
      message: `no board has led the site for ${formatDuration(without)}: ${why}`,
      hint: "run siteward status on the other boards",
    },
  ];
}

/**
 * How long after the term's end a follower may still be waiting, in milliseconds: it adds its retry period and jitter.
 */
const slackOfFollowers = 30_000;

/** A backlog older than this is reported. A burst of changes is usually applied within seconds. */
const toleratedBacklog: Millis = 60_000;

function watchProblems({ watches = [], api }: Parts): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  for (const { resource, state, heardMs, behindMs = 0, rejected, rejectedWhy } of watches) {
    if (state === "silent" && api?.state !== "down") {
      const silence = heardMs === undefined ? "nothing received yet" : `silent for ${formatDuration(heardMs)}`;
      found.push({
        type: "WatchStalled",
        subject: resource,
        severity: "warning",
        message: `${resource}: ${silence}; until the watch recovers, ${
          /^(nodes|leases)\b/.test(resource)
            ? "no board is judged by its silence"
            : "the controllers may act on stale objects"
        }`,
        hint: "the agent reopens the watch by itself; if the problem persists, check the link",
      });
    }
    if (behindMs >= toleratedBacklog) {
      found.push({
        type: "CacheBehind",
        subject: resource,
        severity: "warning",
        message: `${resource}: received changes have been waiting for ${formatDuration(behindMs)}; until they are applied, the controllers act on stale objects`,
        hint: "there are more changes than this board can apply: siteward journal tail shows the waiting objects, kubectl get --watch how often they change",
      });
    }
    const [last] = rejectedWhy.slice(-1);
    if (rejected > 0 && last !== undefined) {
      found.push({
        type: "ObjectsRejected",
        subject: resource,
        severity: "warning",
        message: `${resource}: ${rejected} could not be used, the last one: ${last}`,
        hint: `inspect these ${resource} with kubectl; siteward status --json lists the last few`,
      });
    }
  }
  return found;
}

function siteProblems({
  zones = [],
  judgement,
  eviction,
  selectionConflicts = [],
  now,
}: Parts): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  for (const { name, state, ready, nodes, rate } of zones) {
    if (state !== "PartialDisruption" && state !== "FullDisruption") continue;
    // Boards that report themselves not ready are still evicted while evictions from silent ones are held.
    const who = eviction?.held ? "evicting no silent board" : `evicting at ${rate} boards/s`;
    const pace = judgement?.isShadowed ? "evicting nothing (shadow mode)" : rate === 0 ? "evicting nothing" : who;
    found.push({
      type: "ZoneDisrupted",
      subject: name,
      severity: "warning",
      message: `${name}: ${state}, ${ready} of ${nodes} boards ready${judgement?.isPaused ? " at the last judgement" : ""}, ${pace}`,
      hint: judgement?.isShadowed ? checkZone : zoneHint({ name, ready, rate }),
    });
  }
  if (eviction?.held) {
    const { why, since, awaited, until } = eviction.held;
    const names = awaited && [...awaited.some, ...(awaited.count > awaited.some.length ? ["others"] : [])];
    const whom = names === undefined || names.length === 0 ? "" : `, waiting for ${names.join(", ")}`;
    const end = until === undefined ? "" : `, at the latest until ${clockTime(until, now)}`;
    found.push({
      type: "QuarantineHold",
      severity: "warning",
      message: `no silent board is evicted for now: ${why} (for ${formatDuration(elapsed(since, now))})${whom}${end}`,
      hint: "this ends by itself",
    });
  }
  if (eviction?.staying) found.push(stayingProblem(eviction.staying));
  if (eviction?.valve?.heldSince) found.push(valveProblem(eviction.valve, eviction.valve.heldSince, now));
  for (const conflict of selectionConflicts) {
    const { site, lease } = conflict;
    const [namespace, name] = lease.split("/");
    found.push({
      type: "SelectionConflict",
      subject: site,
      severity: "critical",
      message: `the older site ${site} claims ${claimed(conflict)}`,
      hint: `change site.nodeSelector or site.namespaceSelector of one of the two sites, or, if ${site} no longer exists: kubectl -n ${namespace} delete lease ${name}`,
    });
  }
  return found;
}

const checkZone = "check power and network of the zone";

/** The next step for an operator who knows that boards are dead, if the zone evicts nothing. */
function zoneHint({ name, ready, rate }: Pick<ZonePart, "name" | "ready" | "rate">): string {
  if (rate > 0) return checkZone;
  const [command, args] =
    ready === 0 ? ["zone.confirm-dead", { zone: name, ttl: 3600 }] : ["board.confirm-dead", { board: "NODE" }];
  const who = ready === 0 ? "all its boards are" : "a board is";
  return `${checkZone}; if ${who} certainly dead: siteward cmd ${command} '${JSON.stringify(args)}' --reason TEXT`;
}

function stayingProblem({ pods, on }: NonNullable<NonNullable<Parts["eviction"]>["staying"]>): ProblemPart {
  const [first = "NODE"] = on;
  return {
    type: "PodsStaying",
    severity: "info",
    message: `${countedHeld(pods, "pod")} on silent boards (${on.join(", ")}) ${pods === 1 ? "stays" : "stay"}, because an eviction would gain no second copy, or because an annotation says so`,
    hint: `siteward why node/${first} gives the reason for each; if the board is certainly dead: siteward cmd board.confirm-dead '${JSON.stringify({ board: first })}' --reason TEXT; for single pods: kubectl annotate pod POD siteward.dev/on-silence=replace-when-lost`,
  };
}

function valveProblem(
  { acts, limit, kept = 0, usedBy = [], boards, mostBoards, isUnknown, held = 0, heldOn = [] }: ValvePart,
  since: Instant,
  now: Instant,
): ProblemPart {
  const isShared = acts < limit - kept && boards < mostBoards;
  const details = [...(kept > 0 ? [`${kept} of the ${limit} are reserved for taints`] : []), ...usageTexts(usedBy)];
  const reasons = [
    isUnknown
      ? "the acts of the last hour are unknown, because the site's Lease did not contain them"
      : `${acts} of ${limit} per hour used${details.length === 0 ? "" : ` (${details.join("; ")})`}`,
    ...(!isUnknown && isShared ? ["a namespace may have used its share"] : []),
    ...(boards >= mostBoards ? [`${boards} of at most ${mostBoards} silent boards are tainted`] : []),
  ];
  const [first = "NODE"] = heldOn;
  return {
    type: "SafetyValveShut",
    severity: "critical",
    message: `${held === 0 ? "harmful acts" : countedHeld(held, "act")}${heldText(heldOn)} ${held === 1 ? "has" : "have"} waited since ${timeOf(since, now)}: ${reasons.join("; ")}`,
    hint: `siteward why node/${first} shows what is held there; if these boards are really lost: siteward cmd valve.release '{"ttl":3600}' --reason TEXT`,
  };
}

/** The boards on which acts are held; there may be more than are named. */
const heldText = (heldOn: readonly string[]): string =>
  heldOn.length === 0 ? "" : ` on ${heldOn.join(", ")}${heldOn.length < maxHeldNamed ? "" : " and perhaps others"}`;

/** Maximum number of boards named. */
const maxHeldNamed = 3;

const usageTexts = (usedBy: NonNullable<ValvePart["usedBy"]>): readonly string[] =>
  usedBy.length === 0 ? [] : [usedBy.map(({ namespace, acts }) => `${namespace} ${acts}`).join(", ")];

function claimed({ boards, some, namespaces }: SelectionConflictPart): string {
  const named = (names: readonly string[], of: number): string =>
    `${names.join(", ")}${of > names.length ? ", …" : ""}`;
  const found = [
    ...(boards > 0 ? [`${boards} of this site's boards too, which are left alone: ${named(some, boards)}`] : []),
    ...(namespaces === "every" ? ["every namespace, so workloads are left alone"] : []),
    ...(typeof namespaces === "object"
      ? [
          `${namespaces.count} of this site's namespaces, whose workloads are left alone: ${named(namespaces.some, namespaces.count)}`,
        ]
      : []),
  ];
  return found.join("; and ");
}

function ownProblems({ controllers = [], rebuilt, restored, config, process, now }: Parts): readonly ProblemPart[] {
  const found: ProblemPart[] = [];
  for (const { name, state, lastError } of controllers) {
    if (state !== "failing") continue;
    const message = lastError ? `${name}: ${lastError}` : name;
    found.push({ type: "ControllerFailing", subject: name, severity: "warning", message, hint: "see the agent's log" });
  }
  if (restored) {
    const dropped =
      rebuilt && `${rebuilt.why}; this board deleted its cache ${formatDuration(elapsed(rebuilt.at, now))} ago`;
    found.push({
      type: "ServerRestored",
      severity: "warning",
      message: `${dropped ?? "the API server was recently restored from a backup"}; this board still checks whether any server shows state that was undone`,
      hint: restored.hint,
    });
  } else if (rebuilt && elapsed(rebuilt.at, now) < rebuiltIsNews) {
    const ago = formatDuration(elapsed(rebuilt.at, now));
    found.push({
      type: "CacheRebuilt",
      severity: "info",
      message: `cache.db was recreated ${ago} ago: ${rebuilt.why}`,
    });
  }
  for (const warning of config?.warnings ?? [])
    found.push({ type: "ConfigSuspicious", subject: warning, severity: "info", message: warning });
  if (process.writeFailures > 0) {
    found.push({
      type: "StatusNotWritten",
      severity: "info",
      message: `writing the status file has failed ${counted(process.writeFailures, "time")} since the agent started`,
      hint: "check the free space and the permissions of the status file's folder",
    });
  }
  return found;
}
