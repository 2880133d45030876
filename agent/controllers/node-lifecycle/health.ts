import { conditionOf } from "../../api/conditions.ts";
import type { Node, NodeCondition } from "../../api/core.ts";
import { elapsed, type Instant, shifted } from "../../base/clock.ts";
import { confirmedBy, type Holds } from "../../holds/holds.ts";
import { type Link, later } from "../../judgement/link.ts";
import { type Verdict, verdictOf } from "../../judgement/verdict.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { zoneName, zoneOf } from "./zones.ts";

/** One board as a pass sees it. Lease versions are resourceVersions; `undefined`: there is no Lease. */
export interface Sighting {
  readonly node: Node;
  /** The version of the Node that the cache shows; `node` itself may be newer. */
  readonly cached: string;
  readonly lease: string | undefined;
  /** The Lease as the API itself gave it in this pass, where it was asked. */
  readonly answer?: { readonly lease: string | undefined };
}

/**
 * What is remembered of a board between passes. Remote times are kept as texts and compared for change only: a board
 * without a battery clock lives in another year.
 */
export interface BoardHealth {
  readonly uid: string;
  /** From here on the board counts as silent. */
  readonly probe: Instant;
  /** When its readiness changed. */
  readonly transition: Instant;
  /** When it was last seen to change something itself; `undefined`: not since we look. */
  readonly heard: Instant | undefined;
  readonly ready: { readonly heartbeat: string | undefined; readonly transition: string | undefined } | undefined;
  readonly lease: string | undefined;
  /** What was last heard was its status, not its Lease. */
  readonly byStatus: boolean;
  /** The next sight of a Lease counts once more, though it is the same: see `hear`. */
  readonly recount: boolean;
  /** The version in the API's last own answer. The cache may still be behind it, and then catch up with it. */
  readonly answered: { readonly lease: string | undefined; readonly at: Instant } | undefined;
}

export interface Examined {
  readonly sighting: Sighting;
  readonly health: BoardHealth;
  readonly verdict: Verdict;
  /** Status of the Ready condition as the API has it; `undefined`: there is none. */
  readonly observed: string | undefined;
}

/** What a judgement rests on besides the board itself. */
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

/** Somebody who knows says that a whole zone is dead: that is a witness for each silent board of it, and for no other. */
function confirmed(verdict: Verdict, node: Node, holds: Holds, now: Instant): Verdict {
  if (verdict.verdict !== "unproven" || holds.confirmed.size === 0) return verdict;
  const by = confirmedBy(holds, zoneName(zoneOf(node)), now);
  return by === undefined
    ? verdict
    : { verdict: "dead", rule: `silent past its grace period, and ${by} says it is dead` };
}

/** It is silent, and its Ready condition does not say so yet. Where it does, the other conditions are worth no write. */
export const deservesUnknown = ({ verdict: { verdict }, observed }: Examined): boolean =>
  (verdict === "unproven" || verdict === "dead") && observed !== "Unknown";

export const readyOf = ({ status }: Node): NodeCondition | undefined => conditionOf(status?.conditions, "Ready");

/**
 * Whether more than the grace period went by, and whether it is proven: the watch that would have brought a sign of life
 * vouches for it, or the API's own answer.
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
 * The record one sighting later. It counts as heard when the Lease has another version or the heartbeat another value,
 * whatever these say.
 *
 * As in kube-controller-manager 1.36, a changed heartbeat beside an unchanged Lease makes the Lease count once more in
 * the next pass: up to one more period of grace.
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
 * A Node without a status: its startup grace period begins when we see it. Policy `kubernetes` lets it begin at the
 * creation that the API server's clock wrote down, the one remote time that it reads as time.
 */
function registeredAt({ metadata }: Node, { policy }: NodeLifecycleSettings, now: Instant): Instant {
  const created = Date.parse(metadata.creationTimestamp ?? "");
  return policy === "kubernetes" && created < now.wall ? shifted(now, created - now.wall) : now;
}

/** A Ready condition that comes is a sign of life; one that somebody took away is none, as kube-controller-manager has it. */
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

/** NetworkUnavailable is missing: it is not the kubelet that writes it. */
const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** The conditions of a silent board that have to be written. `time`: now, as text; a whole site can fall silent at once. */
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

/** Our own write of a board's conditions is no sign of life from it. */
export function afterWrite(health: BoardHealth, written: Node, lease: string | undefined, now: Instant): BoardHealth {
  return { ...health, ready: beatOf(readyOf(written)), transition: now, lease: lease ?? health.lease, recount: false };
}
