import type { Instant, Millis } from "../../../base/clock.ts";
import { emptyBucket, fullBucket } from "../../../base/token-bucket.ts";
import { type Holds, slowAfter } from "../../../holds/holds.ts";
import { isRecovering } from "../../../judgement/link.ts";
import type { AfterConditions } from "../after-conditions.ts";
import type { SiteMemory, ZoneRecord } from "../memory.ts";
import type { NodeLifecycleSettings } from "../settings.ts";
import { runningTaint } from "../taints.ts";
import type { Budget } from "./budget.ts";
import { newQueue, withRate } from "./eviction-queue.ts";
import { zoneHolds } from "./zone-hold.ts";
import {
  counting,
  type Disruption,
  disruption,
  evictionRate,
  isCounted,
  noBoards,
  type ZoneCount,
  type ZoneState,
  zoneName,
  zoneState,
} from "./zones.ts";

export interface JudgedZones {
  readonly zones: ReadonlyMap<string, ZoneRecord>;
  readonly disruption: Disruption;
}

/**
 * All zones that have a board, with the state and rate that follow from this pass.
 *
 * A zone without a countable board keeps its record and its bucket. kube-controller-manager forgets such a zone, and so
 * gives it a full bucket in the next pass.
 */
export function judgeZones(
  boards: readonly AfterConditions[],
  memory: SiteMemory,
  {
    settings,
    inherited,
    holds,
    now,
  }: { settings: NodeLifecycleSettings; inherited: Budget | undefined; holds: Holds; now: Instant },
): JudgedZones {
  const counts = count(boards);
  const states = new Map([...counts].map(([zone, counted]) => [zone, zoneState(counted, settings)]));
  const sizeOf = (zone: string): number => {
    const counted = counts.get(zone);
    return counted ? counted.ready + counted.notReady : 0;
  };
  const before = new Map<string, ZoneRecord>();
  for (const { zone } of boards) {
    if (before.has(zone)) continue;
    const first = { size: sizeOf(zone), spent: inherited ? spentSince(boards, zone, inherited) : 0 };
    before.set(zone, memory.zones.get(zone) ?? firstZone(zone, first, { settings, inherited, now }));
  }
  const kind = whatChanges(before, states, settings);
  // While no board of the site is ready, evictions stop. In a zone whose boards an operator confirmed to be dead, they
  // resume at the secondary rate, but not if one of the boards has given a sign of life since.
  const open = holds.confirmed.size === 0 ? undefined : zonesWith(boards, isUnconfirmed);
  const confirmedRate = (zone: string): number | undefined =>
    open === undefined || open.has(zone) || states.get(zone) !== "full" ? undefined : settings.secondaryRate;
  const held = settings.policy === "evidence" ? zoneHolds(boards, settings.zoneHold) : noHolds;
  const recovering = settings.policy === "evidence" && isRecovering(memory.quarantine, settings.recovery, now);
  const zones = new Map<string, ZoneRecord>();
  for (const [name, record] of before) {
    const zone = next(
      record,
      { state: states.get(name), size: sizeOf(name), kind, counted: states.size > 0 },
      settings,
    );
    const isSlow = recovering || slowAfter(holds, zoneName(name), now) !== undefined;
    const rate = isSlow ? Math.min(zone.rate, settings.secondaryRate) : zone.rate;
    const heldMs = held.get(name);
    const allowed = heldMs === undefined ? (confirmedRate(name) ?? rate) : 0;
    zones.set(name, { ...zone, heldMs, queue: withRate(zone.queue, allowed, now) });
  }
  return { zones, disruption: kind };
}

const noHolds: ReadonlyMap<string, Millis> = new Map();

const isUnconfirmed = ({ evidence }: AfterConditions): boolean => evidence.confirmedBy === undefined;

const zonesWith = (boards: readonly AfterConditions[], is: (board: AfterConditions) => boolean): ReadonlySet<string> =>
  new Set(boards.filter(is).map(({ zone }) => zone));

function count(boards: readonly AfterConditions[]): ReadonlyMap<string, ZoneCount> {
  const counts = new Map<string, ZoneCount>();
  for (const board of boards) {
    if ((board.lacksConditions && !board.unwritten) || !isCounted(board.node)) continue;
    const ready = board.unwritten ? "Unknown" : board.ready;
    counts.set(board.zone, counting(counts.get(board.zone) ?? noBoards, ready));
  }
  return counts;
}

/**
 * The change of the site. In kube-controller-manager, a site without a ready board does not resume if the returning
 * board is in a zone never seen before, because the other zones remain stopped until their own state changes. Policy
 * `evidence` resumes.
 */
function whatChanges(
  before: ReadonlyMap<string, ZoneRecord>,
  after: ReadonlyMap<string, ZoneState>,
  { policy }: NodeLifecycleSettings,
): Disruption {
  const states = new Map([...before].map(([zone, { state }]) => [zone, state]));
  const kind = disruption(states, after);
  if (policy === "kubernetes" || kind !== "usual") return kind;
  const known = new Map([...after].filter(([zone]) => states.get(zone) !== "initial"));
  return known.size > 0 && disruption(states, known) === "all-silent" ? "resumed" : kind;
}

/** Number of boards tainted since the previous leader last wrote its budget, which does not include them. */
const spentSince = (boards: readonly AfterConditions[], zone: string, { taints }: Budget): number =>
  boards.filter((board) => {
    const taint = board.zone === zone ? runningTaint(board.node) : undefined;
    const recorded = taints.get(board.name);
    return taint !== undefined && (recorded === undefined || recorded.added !== taint.timeAdded);
  }).length;

/**
 * The zone as the previous leader left it. Without a previous leader, policy `evidence` starts with an empty bucket, so
 * that the first board waits for its token.
 */
function firstZone(
  name: string,
  { size, spent }: { readonly size: number; readonly spent: number },
  { settings, inherited, now }: { settings: NodeLifecycleSettings; inherited: Budget | undefined; now: Instant },
): ZoneRecord {
  const base = { heldMs: undefined, paid: new Map<string, never>(), evictions: [], foreign: {} };
  const left = inherited?.zones.get(name);
  if (inherited === undefined || left === undefined) {
    const bucket = settings.policy === "kubernetes" ? fullBucket(now, 1) : emptyBucket(now);
    const rate = settings.evictionRate;
    return { ...base, state: "initial", rate, queue: newQueue(rate, bucket) };
  }
  const { state, level, evictions, foreign } = left;
  const wasDark = [...inherited.zones.values()].every((zone) => zone.state === "full");
  const rate = wasDark ? 0 : evictionRate(state, size, settings);
  const count = evictions + spent;
  const past = count > 0 ? [{ at: now, count }] : [];
  const rest = rate > 0 ? Math.max(0, level - spent) : 0;
  return { ...base, state, rate, queue: newQueue(rate, { level: rest, at: now }), evictions: past, foreign };
}

/** The zone after this pass: the transitions of its state and rate. */
function next(
  zone: ZoneRecord,
  seen: { state: ZoneState | undefined; size: number; kind: Disruption; counted: boolean },
  settings: NodeLifecycleSettings,
): ZoneRecord {
  const state = seen.state ?? zone.state;
  switch (seen.kind) {
    case "all-silent":
      // Under policy `kubernetes` the tainting of a lost zone continues when the only zone with a ready board vanishes:
      // kube-controller-manager sees no change there.
      return settings.policy === "kubernetes" || !seen.counted ? zone : { ...zone, state, rate: 0 };
    case "silenced":
      return seen.counted ? { ...zone, state, rate: 0 } : zone;
    case "resumed":
      return { ...zone, state, rate: evictionRate(state, seen.size, settings) };
    case "usual":
      return state === zone.state ? zone : { ...zone, state, rate: evictionRate(state, seen.size, settings) };
    default:
      return seen.kind satisfies never;
  }
}
