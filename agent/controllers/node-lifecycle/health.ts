import { conditionOf } from "../../api/conditions.ts";
import type { Node, NodeCondition } from "../../api/core.ts";
import { elapsed, type Instant, shifted } from "../../base/clock.ts";
import { confirmedBy, type Holds } from "../../holds/holds.ts";
import { type Link, later } from "../../judgement/link.ts";
import { type Verdict, verdictOf } from "../../judgement/verdict.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { zoneName, zoneOf } from "./zones.ts";

/** One board as a pass reads it. `lease` is the resourceVersion of its Lease; `undefined`: it has none. */
export interface Sighting {
  readonly node: Node;
  /** resourceVersion of the cached Node; `node` itself may be newer. */
  readonly cached: string;
  readonly lease: string | undefined;
  /** The Lease as read from the API in this pass; absent if it was not read. */
  readonly answer?: { readonly lease: string | undefined };
}

/**
 * State of a board kept between passes. Remote timestamps are kept as texts and only compared for change: a board
 * without a battery clock may be years off.
 */
export interface BoardHealth {
  readonly uid: string;
  /** Start of the silence: the grace period counts from here. */
  readonly probe: Instant;
  /** When its readiness last changed, on our clock. */
  readonly transition: Instant;
  /** When it last gave a sign of life; `undefined`: not since we started watching it. */
  readonly heard: Instant | undefined;
  readonly ready: { readonly heartbeat: string | undefined; readonly transition: string | undefined } | undefined;
  readonly lease: string | undefined;
  /** The last sign of life came from its status, not from its Lease. */
  readonly byStatus: boolean;
  /** An unchanged Lease counts as a sign of life once more in the next pass: see `hear`. */
  readonly recount: boolean;
  /** The version last read from the API directly. The cache may still be behind it and catch up later. */
  readonly answered: { readonly lease: string | undefined; readonly at: Instant } | undefined;
}

export interface Examined {
  readonly sighting: Sighting;
  readonly health: BoardHealth;
  readonly verdict: Verdict;
  /** Status of the Ready condition in the API; `undefined`: there is none. */
  readonly observed: string | undefined;
}

/** Input of a judgement besides the board itself. */
export interface Circumstances {
  readonly link: Link;
  readonly holds: Holds;
  readonly settings: NodeLifecycleSettings;
  readonly now: Instant;
}

export function examine(
  before: BoardHealth | undefined,
  sighting: Sighting,
  { link, holds, settings, now }: Circumstances,
): Examined {
  const known = before?.uid === sighting.node.metadata.uid ? before : undefined;
  const ready = readyOf(sighting.node);
  const health = hear(known, sighting, settings, now);
  const verdict = confirmed(verdictOf(silence(health, sighting, { link, settings, now })), sighting.node, holds, now);
  return { sighting, health, verdict, observed: ready?.status };
}

/**
 * An operator's confirmation that the zone is dead counts as a witness for each silent board of that zone, and for no
 * other.
 */
function confirmed(verdict: Verdict, node: Node, holds: Holds, now: Instant): Verdict {
  if (verdict.verdict !== "unproven" || holds.confirmed.size === 0) return verdict;
  const by = confirmedBy(holds, zoneName(zoneOf(node)), now);
  return by === undefined
    ? verdict
    : { verdict: "dead", rule: `silent past its grace period, and ${by} says it is dead` };
}

/**
 * The board is silent and its Ready condition does not show it yet. If it does, the other conditions are not worth a
 * write.
 */
export const deservesUnknown = ({ verdict: { verdict }, observed }: Examined): boolean =>
  (verdict === "unproven" || verdict === "dead") && observed !== "Unknown";

export const readyOf = ({ status }: Node): NodeCondition | undefined => conditionOf(status?.conditions, "Ready");

/**
 * Whether the grace period has passed, and whether the silence is proven: by a watch that would have delivered a sign
 * of life, or by a direct answer of the API.
 */
function silence(
  health: BoardHealth,
  { node, lease }: Sighting,
  { link, settings, now }: { readonly link: Link; readonly settings: NodeLifecycleSettings; readonly now: Instant },
): { live: boolean; overdue: boolean; proven: boolean } {
  const since = later(health.probe, link.restoredAt) ?? health.probe;
  const grace = readyOf(node) === undefined ? settings.startupGracePeriod : settings.gracePeriod;
  const vouchesFor = (proof: Instant | undefined): boolean => proof !== undefined && elapsed(since, proof) > grace;
  const bySeeing =
    ((lease !== undefined && !health.byStatus) || vouchesFor(link.proof.nodes)) &&
    (lease === undefined || vouchesFor(link.proof.leases));
  return {
    live: link.live,
    overdue: elapsed(since, now) > grace,
    proven: bySeeing || vouchesFor(health.answered?.at),
  };
}

/**
 * The record after one more sighting. A changed Lease version or a changed heartbeat value is a sign of life, whatever
 * the values say.
 *
 * As in kube-controller-manager 1.36, a changed heartbeat with an unchanged Lease lets the Lease count once more in the
 * next pass: up to one more period of grace.
 */
function hear(
  known: BoardHealth | undefined,
  sighting: Sighting,
  settings: NodeLifecycleSettings,
  now: Instant,
): BoardHealth {
  const base = known === undefined ? firstSight(sighting.node, settings, now) : hearStatus(known, sighting.node, now);
  return hearLease(base, known, sighting, now);
}

function firstSight(node: Node, settings: NodeLifecycleSettings, now: Instant): BoardHealth {
  const ready = readyOf(node);
  const since = ready === undefined ? registeredAt(node, settings, now) : now;
  return {
    uid: node.metadata.uid,
    probe: since,
    transition: since,
    heard: undefined,
    ready: beatOf(ready),
    lease: undefined,
    byStatus: false,
    recount: false,
    answered: undefined,
  };
}

/**
 * Start of the startup grace period of a Node without a status: when we first see it. Policy `kubernetes` starts it at
 * creationTimestamp, the one remote timestamp that is read as time: the API server's clock wrote it.
 */
function registeredAt({ metadata }: Node, { policy }: NodeLifecycleSettings, now: Instant): Instant {
  const created = Date.parse(metadata.creationTimestamp ?? "");
  return policy === "kubernetes" && created < now.wall ? shifted(now, created - now.wall) : now;
}

/**
 * A Ready condition that appears is a sign of life; one that another client removed is not, as in
 * kube-controller-manager.
 */
function hearStatus(known: BoardHealth, node: Node, now: Instant): BoardHealth {
  const beat = beatOf(readyOf(node));
  if (beat === undefined) return known.ready === undefined ? known : { ...known, ready: undefined };
  if (known.ready === undefined) {
    return { ...known, ready: beat, probe: now, transition: now, heard: now, byStatus: true };
  }
  if (beat.heartbeat === known.ready.heartbeat) return known;
  const transition = beat.transition === known.ready.transition ? known.transition : now;
  return { ...known, ready: beat, probe: now, transition, heard: now, byStatus: true };
}

const beatOf = (ready: NodeCondition | undefined): BoardHealth["ready"] =>
  ready && { heartbeat: ready.lastHeartbeatTime, transition: ready.lastTransitionTime };

function hearLease(
  base: BoardHealth,
  known: BoardHealth | undefined,
  { lease, answer }: Sighting,
  now: Instant,
): BoardHealth {
  const answered = answer ? { lease: answer.lease, at: now } : base.answered;
  const isNew = (version: string | undefined): boolean =>
    version !== undefined && version !== base.lease && version !== base.answered?.lease;
  if (isNew(lease) || isNew(answer?.lease)) {
    const heard = known === undefined ? undefined : now;
    return { ...base, lease: lease ?? base.lease, answered, probe: now, heard, byStatus: false, recount: false };
  }
  const isBeat = known !== undefined && base.heard !== known.heard;
  if (isBeat) return { ...base, answered, recount: lease !== undefined };
  if (base.recount && lease !== undefined) return { ...base, answered, probe: now, recount: false };
  return answered === base.answered ? base : { ...base, answered };
}

/** NetworkUnavailable is left out: the kubelet does not write it. */
const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/**
 * The conditions to write for a silent board. `time`: now as text, formatted once, because a whole site can fall silent
 * in one pass.
 */
export const silentConditions = (node: Node, time: string): readonly NodeCondition[] =>
  kubeletConditions
    .filter((type) => conditionOf(node.status?.conditions, type)?.status !== "Unknown")
    .map((type) => silentCondition(node, type, time));

function silentCondition(node: Node, type: string, time: string): NodeCondition {
  const before = conditionOf(node.status?.conditions, type);
  const silent = { type, status: "Unknown", lastTransitionTime: time };
  if (before !== undefined) {
    return { ...before, ...silent, reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
  }
  return {
    ...silent,
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
    lastHeartbeatTime: node.metadata.creationTimestamp ?? time,
  };
}

/** The board's health after our own write of its conditions, which is no sign of life. */
export function afterWrite(health: BoardHealth, written: Node, lease: string | undefined, now: Instant): BoardHealth {
  return { ...health, ready: beatOf(readyOf(written)), transition: now, lease: lease ?? health.lease, recount: false };
}
