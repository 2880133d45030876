import type { Instant } from "../../base/clock.ts";
import { emptyBucket, fullBucket } from "../../base/token-bucket.ts";
import { isRecovering } from "../../judgement/link.ts";
import type { Budget } from "./budget.ts";
import { newQueue, withRate } from "./eviction-queue.ts";
import type { Judged } from "./judge.ts";
import type { SiteMemory, ZoneRecord } from "./memory.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { type Disruption, disruption, evictionRate, isCounted, type ZoneState, zoneState } from "./zones.ts";

export interface JudgedZones {
  readonly zones: ReadonlyMap<string, ZoneRecord>;
  readonly disruption: Disruption;
}

/**
 * Every zone that has a board, with the state and the rate that follow from this pass.
 *
 * A zone none of whose boards could be counted keeps what it had, also its allowance: forgetting it, as
 * kube-controller-manager does, would give it a full one in the next pass.
 */
export function judgeZones(
  boards: readonly Judged[],
  memory: SiteMemory,
  { settings, inherited, now }: { settings: NodeLifecycleSettings; inherited: Budget | undefined; now: Instant },
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
    before.set(zone, memory.zones.get(zone) ?? firstZone(zone, sizeOf(zone), { settings, inherited, now }));
  }
  const kind = disruption(new Map([...before].map(([zone, { state }]) => [zone, state])), states);
  const recovering = settings.policy === "evidence" && isRecovering(memory.quarantine, settings.recovery, now);
  const zones = new Map<string, ZoneRecord>();
  for (const [name, record] of before) {
    const zone = next(
      record,
      { state: states.get(name), size: sizeOf(name), kind, counted: states.size > 0 },
      settings,
    );
    const rate = recovering ? Math.min(zone.rate, settings.secondaryRate) : zone.rate;
    zones.set(name, { ...zone, queue: withRate(zone.queue, rate, now) });
  }
  return { zones, disruption: kind };
}

function count(boards: readonly Judged[]): ReadonlyMap<string, { ready: number; notReady: number }> {
  const counts = new Map<string, { ready: number; notReady: number }>();
  for (const board of boards) {
    if (board.unsettled || !isCounted(board.node)) continue;
    const counted = counts.get(board.zone) ?? { ready: 0, notReady: 0 };
    if (board.ready === "True") counted.ready++;
    else counted.notReady++;
    counts.set(board.zone, counted);
  }
  return counts;
}

/** As the former leader left it. Otherwise policy `evidence` lets the first board of a zone wait for its token. */
function firstZone(
  name: string,
  size: number,
  { settings, inherited, now }: { settings: NodeLifecycleSettings; inherited: Budget | undefined; now: Instant },
): ZoneRecord {
  const base = { paid: new Map<string, never>(), evictions: [], foreign: {} };
  const left = inherited?.zones.get(name);
  if (inherited === undefined || left === undefined) {
    const bucket = settings.policy === "kubernetes" ? fullBucket(now) : emptyBucket(now);
    const rate = settings.evictionRate;
    return { ...base, state: "initial", rate, queue: newQueue(rate, bucket) };
  }
  const { state, level, evictions, foreign } = left;
  const stoodStill = [...inherited.zones.values()].every((zone) => zone.state === "full");
  const rate = stoodStill ? 0 : evictionRate(state, size, settings);
  const past = evictions > 0 ? [{ at: now, count: evictions }] : [];
  return { ...base, state, rate, queue: newQueue(rate, { level, at: now }), evictions: past, foreign };
}

/** The table of transitions. */
function next(
  zone: ZoneRecord,
  seen: { state: ZoneState | undefined; size: number; kind: Disruption; counted: boolean },
  settings: NodeLifecycleSettings,
): ZoneRecord {
  const state = seen.state ?? zone.state;
  switch (seen.kind) {
    case "all-silent":
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
