import type { Node } from "../api/core.ts";
import { leases, nodes, resourceName } from "../api/resources.ts";
import { elapsed, type Instant, isAfter, laterOf, type Millis, shifted } from "../base/clock.ts";
import { inTextOrder } from "../base/text/text-order.ts";
import type { Config } from "../config/settings.ts";
import { isShadowed } from "../config/shadow-mode.ts";
import type { NodeHealth } from "../controllers/node-lifecycle/health.ts";
import type { BoardRecord, SiteMemory } from "../controllers/node-lifecycle/memory.ts";
import { taintedBoards } from "../controllers/node-lifecycle/tainted-boards.ts";
import { runningTaint } from "../controllers/node-lifecycle/taints.ts";
import { zoneName } from "../controllers/node-lifecycle/zones/zones.ts";
import { maxTaintedBoards, type ValveNow } from "../controllers/safety-valve.ts";
import type { DecisionBook } from "../decisions/decision-book.ts";
import type { Restraint } from "../decisions/grounds.ts";
import type { Executor } from "../execution/executor.ts";
import type { ActLimits } from "../holds/act-limit.ts";
import type { QuietHours } from "../holds/hold-book.ts";
import { freezeOn, type Holds, slowAfter } from "../holds/holds.ts";
import { keptForTaints } from "../holds/valve.ts";
import type { ValveBook } from "../holds/valve-book.ts";
import type { InformerStats } from "../informer/informer-stats.ts";
import { endWithoutReports, isQuarantineActive, isRecovering } from "../judgement/link.ts";
import { silenceBegan } from "../judgement/past-silence.ts";
import { flappingSince } from "../judgement/respites.ts";
import { holdLeft, isSilent, isWitnessed } from "../judgement/verdict.ts";
import type {
  BoardsPart,
  ControllerPart,
  EvictionPart,
  JudgementPart,
  NamedBoard,
  NamedBoards,
  Parts,
  ValvePart,
  ZonePart,
} from "../status/parts.ts";
import type { CurrentTerm } from "./current-term.ts";

/** The limits of the safety valve, regardless of whether an operator has released it. */
export interface ValveLimits extends ActLimits {
  /** Boards that may be tainted at the same time. */
  readonly boards: ValveNow["boards"];
}

export interface ReportedSite {
  readonly config: Config;
  readonly current: Pick<CurrentTerm, "site" | "timers" | "podsAwaitingEviction">;
  readonly executor: Pick<Executor, "acts">;
  readonly decisions: Pick<DecisionBook, "heldCounts" | "boardsHeldBy">;
  /** The safety valve and its limits; undefined if there is none. */
  readonly valve: Pick<ValveBook, "view" | "mostUsed" | "holdingSince"> | undefined;
  readonly limits: ValveLimits | undefined;
  readonly holds: Holds;
  readonly quiet: QuietHours | undefined;
  readonly watches: readonly InformerStats[];
  readonly controllers: readonly ControllerPart[];
  /** The cached Nodes as they really are, whatever a controller in shadow mode has made of them. */
  readonly nodes: () => Iterable<Node>;
}

/** The parts of the status that only the leader knows: boards, zones and evictions. Empty while another board leads. */
export function siteParts(of: ReportedSite, now: Instant): Pick<Parts, "zones" | "boards" | "judgement" | "eviction"> {
  const { site } = of.current;
  // Before the first judgement, there is no site to show. If the controller is paused, that may last for long.
  if (site === undefined) return isPaused(of) ? { judgement: notBegun(of) } : {};
  return {
    zones: zoneParts(site, of, now),
    boards: boardsPart(site, of, now),
    judgement: judgementPart(site, of, now),
    eviction: evictionPart(site, of, now),
  };
}

const zoneStates = {
  initial: "Initial",
  normal: "Normal",
  partial: "PartialDisruption",
  full: "FullDisruption",
} as const;

function zoneParts(site: SiteMemory, of: ReportedSite, now: Instant): readonly ZonePart[] {
  const boards = [...site.boards.values()];
  return [...site.zones].map(([zone, { state, queue, rate: allowed }]) => {
    const members = boards.filter((board) => board.zone === zone);
    const ready = members.filter((board) => board.ready === "True" && !isMute(board)).length;
    const rate = isPaused(of) || isStopped(of, { zone }, now) ? 0 : queue.rate;
    const slow = rate > 0 && rate < allowed ? slowNow(site, of, zone, now) : undefined;
    return { name: zoneName(zone), state: zoneStates[state], nodes: members.length, ready, rate, ...slow };
  });
}

/** Until when a zone evicts slowly, and after what; undefined if neither an outage nor a freeze slows it. */
function slowNow(
  { quarantine }: SiteMemory,
  { holds, config: { judgement } }: ReportedSite,
  zone: string,
  now: Instant,
): Pick<ZonePart, "slowUntil" | "slowAfter"> | undefined {
  const { releasedAt } = quarantine;
  const isAfterOutage = releasedAt !== undefined && isRecovering(quarantine, judgement.recovery, now);
  const recovered = isAfterOutage ? shifted(releasedAt, judgement.recovery) : undefined;
  const thawed = slowAfter(holds, zoneName(zone), now)?.slowEnd;
  const slowUntil = laterOf(recovered, thawed);
  return slowUntil && { slowUntil, slowAfter: slowUntil === recovered ? "outage" : "freeze" };
}

/**
 * Whether the board counts as silent. Its Ready condition does not show that as long as it cannot be written, for
 * example because the agent lacks the permission.
 */
const isMute = ({ verdict, unwritten }: BoardRecord): boolean => unwritten || isSilent(verdict);

function judgementPart(site: SiteMemory, of: ReportedSite, now: Instant): JudgementPart {
  const { boards, judgedAt, behindSince } = site;
  return {
    ...notBegun(of),
    at: judgedAt,
    unwritten: [...boards.values()].filter(({ unwritten }) => unwritten).length,
    behindSince,
    postponed: postponed(site, of.config.nodeLifecycle.gracePeriod, now),
  };
}

/** The judgement before the first pass over the boards. */
function notBegun(of: ReportedSite): JudgementPart {
  const { nodeLifecycle, client } = of.config;
  return {
    at: undefined,
    period: nodeLifecycle.monitorPeriod,
    isPaused: isPaused(of),
    isShadowed: isShadowed(of.config, "nodeLifecycle"),
    unwritten: 0,
    behindSince: undefined,
    qps: client.qps,
  };
}

/** Whether an operator paused the controller that judges boards and has them evicted. */
const isPaused = ({ controllers }: ReportedSite): boolean =>
  controllers.some(({ name, state }) => name === "node-lifecycle" && state === "paused");

/** A silent board is reported as postponed after this many grace periods. */
const postponedPeriods = 3;

/**
 * The boards that have been silent since before the link began to flap, and either count as alive because each outage
 * begins a new grace period, or keep their pods because it begins a new quarantine.
 */
function postponed(site: SiteMemory, gracePeriod: Millis, now: Instant): JudgementPart["postponed"] {
  const since = flappingSince(site.respites, gracePeriod);
  if (since === undefined) return undefined;
  const waits = ({ ready, taint, verdict: { verdict } }: BoardRecord): boolean =>
    ready === "Unknown"
      ? taint === undefined && isQuarantineActive(site.quarantine)
      : verdict === "alive" || verdict === "unknown";
  const waiting = [...site.boards].flatMap(([name, record]): readonly NamedBoard[] => {
    const began = silenceBegan(record.health);
    const isLong = !isAfter(began, since) && elapsed(began, now) >= postponedPeriods * gracePeriod;
    return isLong && waits(record) ? [{ name, ...lastReport(record.health) }] : [];
  });
  return waiting.length === 0 ? undefined : { since, boards: named(waiting) };
}

/** Whether a freeze or quiet hours stop evictions from a board or, without `board`, from every board of the zone. */
function isStopped(
  { holds, quiet }: ReportedSite,
  { zone, board }: { readonly zone: string; readonly board?: string },
  now: Instant,
): boolean {
  if (quiet !== undefined) return true;
  // The empty name does not match a freeze of any single board.
  return freezeOn(holds, { board: board ?? "", zone: zoneName(zone) }, now) !== undefined;
}

function evictionPart(site: SiteMemory, of: ReportedSite, now: Instant): EvictionPart {
  const timers = of.current.timers(now);
  const acts = of.executor.acts(now);
  const queued = [...site.zones.values()].flatMap(({ queue }) => [...queue.waiting.values()]);
  const oldest = queued.reduce<Instant | undefined>(
    (first, { addedAt }) => (first && first.mono <= addedAt.mono ? first : addedAt),
    undefined,
  );
  const isInQuarantine = isQuarantineActive(site.quarantine);
  const heldByValve = new Set(of.decisions.boardsHeldBy("valve"));
  const isDeaf = of.watches.some(({ resource, live }) => !live && judgedBy.includes(resource));
  const isHeldBack = (name: string): boolean => {
    if (isPaused(of)) return true;
    const record = site.boards.get(name);
    if (record === undefined) return false;
    // A board that reports itself not ready is tainted without a verdict of ours.
    if (record.ready === "Unknown" && (isInQuarantine || isDeaf)) return true;
    if (!record.mayTaint || site.zones.get(record.zone)?.queue.rate === 0 || heldByValve.has(name)) return true;
    return isStopped(of, { zone: record.zone, board: name }, now);
  };
  const since = isInQuarantine ? site.quarantine.restoredAt : undefined;
  return {
    queue: queued.length,
    queueHeld: queued.filter(({ name }) => isHeldBack(name)).length,
    pending: timers?.waiting ?? 0,
    due: timers?.due ?? 0,
    evicted1h: acts.find(({ act }) => act === "pod-evicted")?.lastHour,
    acts,
    heldActs: ofEachReason(of.decisions.heldCounts()),
    ...stayingPods(of.decisions),
    oldestMs: oldest && elapsed(oldest, now),
    valve: valvePart(site, of, now),
    held: since && {
      why: "quarantine after an outage: not every board has reported again",
      since,
      awaited: awaited(site, since),
      until: endWithoutReports(site.quarantine, of.config.nodeLifecycle.gracePeriod, now),
    },
  };
}

/** The pods that stay on silent boards because their eviction would gain nothing. */
function stayingPods(decisions: ReportedSite["decisions"]): Pick<EvictionPart, "staying"> {
  const pods = decisions.heldCounts().find(({ why }) => why === "no-gain")?.now ?? 0;
  return pods === 0 ? {} : { staying: { pods, on: decisions.boardsHeldBy("no-gain").slice(0, maxNamed) } };
}

/** The boards that have sent no heartbeat since an outage ended. */
function awaited({ boards }: SiteMemory, since: Instant): NonNullable<EvictionPart["held"]>["awaited"] {
  const hasReported = ({ reportedAt }: NodeHealth): boolean => reportedAt !== undefined && !isAfter(since, reportedAt);
  const names = [...boards].flatMap(([name, { health }]) => (hasReported(health) ? [] : [name]));
  return { count: names.length, some: names.sort(inTextOrder).slice(0, maxNamed) };
}

function valvePart(
  { boards }: SiteMemory,
  { valve, limits, decisions, config }: ReportedSite,
  now: Instant,
): ValvePart | undefined {
  if (valve === undefined || limits === undefined) return undefined;
  const limit = limits.acts(now);
  const { acts, isUnknown } = valve.view(limits, now);
  const usedBy = valve.mostUsed(maxNamed, now);
  const heldSince = valve.holdingSince;
  return {
    acts,
    limit,
    kept: keptForTaints(limit),
    ...(usedBy.length > 0 && { usedBy }),
    // Taints that are only pretended do not use up the valve.
    boards: isShadowed(config, "nodeLifecycle") ? 0 : taintedBoards(boards),
    mostBoards: maxTaintedBoards({ shut: undefined, boards: limits.boards }, boards.size),
    ...(isUnknown && { isUnknown }),
    ...(heldSince && {
      heldSince,
      held: decisions.heldCounts().find(({ why }) => why === "valve")?.now ?? 0,
      heldOn: decisions.boardsHeldBy("valve").slice(0, maxNamed),
    }),
  };
}

/**
 * Counts for all reasons for which acts can be held, even if 0; if a reason appeared only with its first hold,
 * monitoring would miss that hold.
 */
function ofEachReason(counts: ReturnType<DecisionBook["heldCounts"]>): EvictionPart["heldActs"] {
  const known = new Map(counts.map((count) => [count.why, count]));
  return reasons.map((why) => known.get(why) ?? { why, now: 0, total: 0 });
}

const reasonSet: Readonly<Record<Restraint["why"], true>> = {
  "not-live": true,
  quarantine: true,
  report: true,
  verdict: true,
  valve: true,
  zone: true,
  freeze: true,
  turn: true,
  "no-gain": true,
};
const reasons = Object.keys(reasonSet) as readonly Restraint["why"][];

/** The resources whose watches must be live for a board to count as silent. */
const judgedBy = [nodes, leases].map(resourceName);

/**
 * The boards that are out of use. A Node that never had a status does not count as lost during its startup grace
 * period. After a change of leader or an outage, a lost board stays lost until it reports or answers on the LAN, even
 * during its new grace period.
 */
function boardsPart(
  { boards, zones, judgedAt }: SiteMemory,
  { config, current, nodes: cached }: ReportedSite,
  now: Instant,
): BoardsPart {
  const { gracePeriod } = config.nodeLifecycle;
  const hasReported = ({ health: { reportedAt } }: BoardRecord): boolean =>
    reportedAt !== undefined && elapsed(reportedAt, now) <= gracePeriod;
  const silent: NamedBoard[] = [];
  const cutOff: NamedBoard[] = [];
  const off: NamedBoard[] = [];
  const notReady: NamedBoard[] = [];
  for (const [name, record] of boards) {
    const { ready, health } = record;
    // A board that renews its Lease but not its Ready condition is alive, but out of use until its kubelet reports.
    const isNotReady = !isMute(record) && (ready === "False" || (ready === "Unknown" && hasReported(record)));
    if (isNotReady) notReady.push({ name, since: health.transition });
    else if (isMute(record) || ready === "Unknown") {
      const { isCordoned, confirmedBy, verdict } = record;
      const board = { name, ...lastReport(health) };
      const witness = witnessOf(name, record, config.board.node);
      if (witness) cutOff.push({ ...board, witness });
      else if (isCordoned && confirmedBy === undefined) off.push(board);
      else {
        const heldUntil = judgedAt && heldUntilOf(record, zones.get(record.zone)?.heldMs, judgedAt);
        const known = { ...(confirmedBy !== undefined && { confirmedBy }), ...(heldUntil && { heldUntil }) };
        silent.push({ ...board, ...known, ...(!isSilent(verdict) && { unjudged: true }) });
      }
    }
  }
  const leaving = current.podsAwaitingEviction(new Set(off.map(({ name }) => name)));
  const taints = isShadowed(config, "nodeLifecycle")
    ? Array.from(cached(), runningTaint)
    : [...boards.values()].map(({ taint }) => taint);
  return {
    lost: named(silent),
    ...(cutOff.length > 0 && { cutOff: named(cutOff) }),
    off: named(off),
    notReady: named(notReady),
    tainted: taints.filter(Boolean).length,
    undrained: [...leaving].map(([name, pods]) => ({ name, ...pods })).sort((a, b) => inTextOrder(a.name, b.name)),
  };
}

/**
 * When the hold of a board, or that of its zone, ends if nothing more becomes known by then; undefined if neither is
 * held. `ofZone`: the zone's remaining hold at `judgedAt`.
 */
function heldUntilOf(
  { verdict, evidence, confirmedBy }: BoardRecord,
  ofZone: Millis | undefined,
  judgedAt: Instant,
): Instant | undefined {
  if (confirmedBy !== undefined) return undefined;
  const own = verdict.held && evidence ? holdLeft(evidence) : undefined;
  const left = Math.max(own ?? -1, ofZone ?? -1);
  return left < 0 ? undefined : shifted(judgedAt, left);
}

/**
 * The witness that shows that a board runs; undefined if there is none. In the grace period after a change of leader or
 * an outage, the board's LAN answers show it before there is a verdict.
 */
function witnessOf(name: string, { verdict, evidence }: BoardRecord, own: string): NamedBoard["witness"] {
  if (isWitnessed(verdict)) {
    if (verdict.verdict === "unmanaged") return "lan, no kubelet";
    return name === own ? "leader" : "lan";
  }
  const heard = isSilent(verdict) ? undefined : evidence?.heard;
  if (heard === "kubelet down") return "lan, no kubelet";
  return heard === "kubelet ok" || heard === "kubelet unknown" ? "lan" : undefined;
}

const lastReport = ({ reportedAt, probe }: NodeHealth): Omit<NamedBoard, "name"> =>
  reportedAt === undefined ? { since: probe, neverHeard: true } : { since: reportedAt };

/** The number of boards, and the names of those that have been out of use longest. */
function named(boards: NamedBoard[]): NamedBoards {
  const rank = ({ neverHeard }: NamedBoard): number => (neverHeard ? 0 : 1);
  boards.sort((a, b) => rank(a) - rank(b) || a.since.mono - b.since.mono || (a.name < b.name ? -1 : 1));
  return { count: boards.length, some: boards.slice(0, maxNamed) };
}

const maxNamed = 3;
