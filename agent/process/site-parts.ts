import { leases, nodes, resourceName } from "../api/resources.ts";
import { elapsed, type Instant } from "../base/clock.ts";
import type { BoardHealth } from "../controllers/node-lifecycle/health.ts";
import type { BoardRecord, SiteMemory } from "../controllers/node-lifecycle/memory.ts";
import { zoneName } from "../controllers/node-lifecycle/zones.ts";
import { freezeOn } from "../holds/holds.ts";
import { isHeld } from "../judgement/link.ts";
import type { Parts } from "../status/parts.ts";
import type { BoardsPart, EvictionPart, JudgementPart, NamedBoards, ZonePart } from "../status/site-parts.ts";
import type { AgentViews } from "../views.ts";

/** The leader's view of the boards, their zones and the evictions. Pure. */
export function siteParts(views: AgentViews, now: Instant): Pick<Parts, "zones" | "boards" | "judgement" | "eviction"> {
  const { site } = views;
  if (site === undefined) return {};
  return {
    zones: zoneParts(site, views, now),
    boards: boardsPart(site, views, now),
    judgement: judgementPart(site, views),
    eviction: evictionPart(site, views, now),
  };
}

const zoneStates = {
  initial: "Initial",
  normal: "Normal",
  partial: "PartialDisruption",
  full: "FullDisruption",
} as const;

function zoneParts(site: SiteMemory, views: AgentViews, now: Instant): readonly ZonePart[] {
  const boards = [...site.boards.values()];
  return [...site.zones].map(([zone, { state, queue }]) => {
    const members = boards.filter((board) => board.zone === zone);
    const ready = members.filter((board) => board.ready === "True" && !board.unwritten).length;
    const rate = isStopped(views, { zone }, now) ? 0 : queue.rate;
    return { name: zoneName(zone), state: zoneStates[state], nodes: members.length, ready, rate };
  });
}

function judgementPart(
  { boards, judgedAt, behindSince }: SiteMemory,
  { config: { nodeLifecycle, client }, controllers }: AgentViews,
): JudgementPart {
  return {
    at: judgedAt,
    period: nodeLifecycle.monitorPeriod,
    isPaused: controllers.some(({ name, state }) => name === "node-lifecycle" && state === "paused"),
    unwritten: [...boards.values()].filter(({ unwritten }) => unwritten).length,
    behindSince,
    qps: client.qps,
  };
}

/** Whether an operator or the calendar stops evictions from a board; without a board: from every board of the zone. */
function isStopped(
  { holds, quiet }: AgentViews,
  { zone, board }: { readonly zone: string; readonly board?: string },
  now: Instant,
): boolean {
  if (quiet !== undefined) return true;
  // No board has an empty name.
  return freezeOn(holds, { board: board ?? "", zone: zoneName(zone) }, now) !== undefined;
}

function evictionPart(site: SiteMemory, views: AgentViews, now: Instant): EvictionPart {
  const { timers, acts, informers } = views;
  const queued = [...site.zones.values()].flatMap(({ queue }) => [...queue.waiting.values()]);
  const oldest = queued.reduce<Instant | undefined>(
    (first, { addedAt }) => (first && first.mono <= addedAt.mono ? first : addedAt),
    undefined,
  );
  const isInQuarantine = isHeld(site.quarantine);
  const isBlind = informers.some(({ resource, live }) => !live && judgedBy.includes(resource));
  const isHeldBack = (name: string): boolean => {
    const record = site.boards.get(name);
    if (record === undefined) return false;
    // A board that reports itself not ready needs no verdict of ours.
    if (record.ready === "Unknown" && (isInQuarantine || isBlind)) return true;
    return isStopped(views, { zone: record.zone, board: name }, now);
  };
  const since = isInQuarantine ? site.quarantine.restoredAt : undefined;
  return {
    queue: queued.length,
    queueHeld: queued.filter(({ name }) => isHeldBack(name)).length,
    pending: timers?.waiting ?? 0,
    due: timers?.due ?? 0,
    evicted1h: acts.find(({ act }) => act === "pod-evicted")?.lastHour,
    acts,
    oldest,
    held: since && { why: "quarantine after an outage: not every board was heard again", since },
  };
}

/** Without their watches no silence counts. */
const judgedBy = [nodes, leases].map(resourceName);

/**
 * A Node that never had a status is not lost yet: its startup grace period runs. After a change of leader or an outage,
 * a lost board stays lost until it is heard: its new grace period is no sign of life.
 */
function boardsPart({ boards }: SiteMemory, { config }: AgentViews, now: Instant): BoardsPart {
  const { gracePeriod } = config.nodeLifecycle;
  const isHeard = ({ health: { heard } }: BoardRecord): boolean =>
    heard !== undefined && elapsed(heard, now) <= gracePeriod;
  const silent: Board[] = [];
  const off: Board[] = [];
  const notReady: Board[] = [];
  let tainted = 0;
  for (const [name, record] of boards) {
    if (record.taint) tainted++;
    const { ready, health, unwritten } = record;
    // Its Lease is renewed again, its Ready condition is not: the board lives, but is not used until it reports.
    const isNotReady = !unwritten && (ready === "False" || (ready === "Unknown" && isHeard(record)));
    if (isNotReady) notReady.push({ name, since: health.transition });
    else if (unwritten || ready === "Unknown") (record.isCordoned ? off : silent).push({ name, ...lastHeard(health) });
  }
  return { lost: named(silent), off: named(off), notReady: named(notReady), tainted };
}

type Board = NamedBoards["some"][number];

const lastHeard = ({ heard, probe }: BoardHealth): Omit<Board, "name"> =>
  heard === undefined ? { since: probe, neverHeard: true } : { since: heard };

/** Counts the boards and names those that have been away longest: they stay first while they are away. */
function named(boards: Board[]): NamedBoards {
  const heard = ({ neverHeard }: Board): number => (neverHeard ? 0 : 1);
  boards.sort((a, b) => heard(a) - heard(b) || a.since.mono - b.since.mono || (a.name < b.name ? -1 : 1));
  return { count: boards.length, some: boards.slice(0, mostNamed) };
}

const mostNamed = 3;
