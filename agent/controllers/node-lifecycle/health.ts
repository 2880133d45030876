import { conditionOf } from "../../api/conditions.ts";
import type { Node, NodeCondition } from "../../api/core.ts";
import { elapsed, type Instant, isAfter, laterOf, type Millis, shifted } from "../../base/clock.ts";
import type { GateFacts } from "../../decisions/grounds.ts";
import { confirmedBy, digestOfSign, type Holds } from "../../holds/holds.ts";
import { heardNow, type LanAnswer, sinceAnswer } from "../../judgement/lan-answer.ts";
import { afterAnswer, askedFacts, type EarlierSilence, type LanReport } from "../../judgement/lan-silence.ts";
import type { Link } from "../../judgement/link.ts";
import { hasContinued, type PastSilences, silenceBegan } from "../../judgement/past-silence.ts";
import { isCurrentRespite, type Missed, missedSince, type Respite, shortenedGrace } from "../../judgement/respites.ts";
import { isToMark } from "../../judgement/ruling.ts";
import { type Evidence, type Verdict, verdictOf, wholeSilence } from "../../judgement/verdict.ts";
import { confirmedDeadBy } from "./out-of-service/mark.ts";
import type { NodeLifecycleSettings } from "./settings.ts";
import { zoneName, zoneOf } from "./zones/zones.ts";

/** One board as a pass reads it. */
export interface Sighting {
  readonly node: Node;
  /** resourceVersion of the cached Node; `node` itself may be newer. */
  readonly cached: string;
  /** resourceVersion of the board's Lease; undefined if it has none. */
  readonly lease: string | undefined;
  /** The Lease's resourceVersion as read from the API in this pass; absent if it was not read. */
  readonly answer?: { readonly lease: string | undefined };
  /**
   * The result of questions to the board on the LAN, as known when the pass read the board; undefined if it was not
   * asked.
   */
  readonly lan?: LanReport | undefined;
}

/** A board's last LAN answer, and the result of later questions; undefined if the board is not asked. */
export type LanAnswerOf = (board: string) => LanReport | undefined;

/** Used if no board is asked on the LAN. */
export const noLanAnswer: LanAnswerOf = () => undefined;

/**
 * The state of a board that is kept between passes. Timestamps of the board are kept as text and only compared for
 * change: without a battery, its clock may be years off.
 */
export interface NodeHealth {
  readonly uid: string;
  /** Start of the silence, from which the grace period is measured. */
  readonly probe: Instant;
  /**
   * When the silence began in an earlier term of this process, if the board has given no sign of life since. The grace
   * period is never measured from it.
   */
  readonly silentFrom?: Instant | undefined;
  /** The board's silence under earlier leaders; undefined if there was none, or something has ended it since. */
  readonly earlier?: EarlierSilence | undefined;
  /** When the board's readiness last changed, on our clock. */
  readonly transition: Instant;
  /** When we began to watch the board. */
  readonly seenAt: Instant;
  /** When the board last gave a sign of life; undefined if it has given none since we began to watch it. */
  readonly reportedAt: Instant | undefined;
  /**
   * When the kubelet first reported its status after the end of the last outage, or after we began to watch the board
   * if that was later. Older than the end of the last outage if the kubelet has not reported since then; undefined if
   * it never has.
   */
  readonly statusAt: Instant | undefined;
  /** When the kubelet last reported its status after a leader had marked the board as silent; undefined if it has not. */
  readonly returnedAt?: Instant | undefined;
  /** The Ready condition; undefined if the board has none. */
  readonly ready:
    | {
        readonly heartbeat: string | undefined;
        readonly transition: string | undefined;
        /** Whether a leader has marked the board as silent. */
        readonly isUnknown: boolean;
      }
    | undefined;
  /** resourceVersion of the board's Lease when it was last seen; undefined if none was seen. */
  readonly lease: string | undefined;
  /** True if the last sign of life came from the board's status, not from its Lease. */
  readonly byStatus: boolean;
  /** True if the next pass counts the unchanged Lease as a sign of life, once: see `healthAfter`. */
  readonly recount: boolean;
  /**
   * The Lease's resourceVersion when it was last read from the API; the cache may show it later. Undefined if never
   * read.
   */
  readonly answered: { readonly lease: string | undefined; readonly at: Instant } | undefined;
  /** The time that the board missed in earlier respites, as of the last pass; undefined if it missed none. */
  readonly missed?: Missed | undefined;
}

export interface Examined {
  readonly sighting: Sighting;
  readonly health: NodeHealth;
  readonly evidence: Evidence;
  /** The verdict that follows from the evidence. */
  readonly verdict: Verdict;
  /** Status of the Ready condition in the API; undefined if there is none. */
  readonly readyBefore: string | undefined;
}

/** The input of a judgement besides the board itself. */
export interface Circumstances {
  readonly link: Link;
  readonly holds: Holds;
  readonly settings: NodeLifecycleSettings;
  readonly now: Instant;
  /** The silences of an earlier term, for boards that this term has not seen yet. */
  readonly silences?: PastSilences | undefined;
  /** The silences that the former leader knew, at the beginning of a term. */
  readonly earlier?: ReadonlyMap<string, EarlierSilence> | undefined;
}

export function examine(
  before: NodeHealth | undefined,
  sighting: Sighting,
  { link, holds, settings, now, silences, earlier }: Circumstances,
): Examined {
  const last = before?.uid === sighting.node.metadata.uid ? before : undefined;
  const ready = readyOf(sighting.node);
  const silence = before === undefined ? silences?.get(sighting.node.metadata.name) : undefined;
  const seen = healthAfter(last, sighting, { link, settings, now });
  // A sign of life that the former leader knew is late news of this leader's caches, and ends no silence.
  const isNews = before === undefined || seen.probe.mono === now.mono;
  const former = isNews ? earlier?.get(sighting.node.metadata.name) : undefined;
  const again = silence && hasContinued(silence, seen) ? { ...seen, silentFrom: silence.since } : seen;
  const isSame = former !== undefined && former.sign === lastSignOf(sighting.node, sighting.lease);
  const health = withWord(isSame ? { ...again, earlier: former } : again, sighting.lan?.word, now);
  const evidence = evidenceOf(health, sighting, { link, holds, settings, now });
  return { sighting, health, evidence, verdict: verdictOf(evidence), readyBefore: ready?.status };
}

/**
 * The leader never harms the board that it runs on (docs/judgement.md#silence). Policy `kubernetes` has no such rule:
 * kube-controller-manager does not know where it runs.
 */
export const isOwn = (
  { metadata }: Pick<Node, "metadata">,
  { policy, ownNode }: Pick<NodeLifecycleSettings, "policy" | "ownNode">,
): boolean => policy === "evidence" && metadata.name === ownNode;

/** Whether the conditions of the board have to be written. */
export const needsUnknownCondition = ({ verdict, readyBefore }: Examined): boolean => isToMark(verdict, readyBefore);

/** The status of a Ready condition in the facts of a decision. */
export const readyFact = (status: string | undefined): Pick<GateFacts, "ready"> =>
  status === "True" || status === "False" || status === "Unknown" ? { ready: status } : {};

export const readyOf = ({ status }: Node): NodeCondition | undefined => conditionOf(status?.conditions, "Ready");

/**
 * The facts about a board's silence. It is proven by a watch that would have delivered a sign of life, or by a direct
 * answer of the API. Silences are rounded up to whole milliseconds, so comparing them with a limit in whole
 * milliseconds gives the same result as comparing the instants.
 */
function evidenceOf(
  health: NodeHealth,
  { node, lease, lan }: Sighting,
  { link, holds, settings, now }: Circumstances,
): Evidence {
  const since = silentSince(health, link);
  const silentUpTo = (to: Instant): Millis => Math.max(0, Math.ceil(elapsed(since, to)));
  const byWatches = lease === undefined ? link.proof.nodes : health.byStatus ? both(link.proof) : link.proof.leases;
  const proof = laterOf(byWatches, health.answered?.at);
  const silence = {
    silentMs: silentUpTo(now),
    graceMs: graceOf(readyOf(node) !== undefined, settings),
    missedMs: missedNow(health, link),
  };
  const { silentMs } = silence;
  return {
    live: link.live,
    ...silence,
    provenMs: proof && Math.max(0, silentMs - silentUpTo(proof)),
    own: isOwn(node, settings),
    ...(settings.policy === "evidence" ? onLan(lan, health, silence, settings, now) : { heard: undefined }),
    confirmedBy:
      confirmedDeadBy(node, lease) ??
      (holds.confirmed.size === 0
        ? undefined
        : confirmedBy(holds, zoneName(zoneOf(node)), () => lastSignOf(node, lease), now)),
  };
}

/** The health after the board's last LAN answer; the same object if the answer changes nothing. */
function withWord(health: NodeHealth, word: LanAnswer | undefined, now: Instant): NodeHealth {
  if (health.earlier === undefined || word === undefined) return health;
  const earlier = afterAnswer(health.earlier, word, now);
  return earlier === health.earlier ? health : { ...health, earlier };
}

/** The facts from the questions to the board on the LAN. */
function onLan(
  lan: LanReport | undefined,
  health: NodeHealth,
  silence: Pick<Evidence, "silentMs" | "graceMs" | "missedMs">,
  { gracePeriod, unmanagedHold, unprovenHold }: NodeLifecycleSettings,
  now: Instant,
): Pick<Evidence, "heard" | "asked" | "holdMs" | "earlierMs"> {
  const { earlier } = health;
  const earlierMs = earlier?.silentMs;
  const limits = { silentMs: wholeSilence({ ...silence, earlierMs }), graceMs: silence.graceMs, unmanagedHold };
  const heard = heardNow(lan?.word, limits, now);
  if (heard !== undefined || lan?.unanswered === undefined) return { heard, earlierMs };
  const answeredMs = lan.word && sinceAnswer(lan.word, now);
  const asked = {
    ...askedFacts(lan.unanswered),
    ...(earlier?.isLost && { foundLost: true as const }),
    ...(answeredMs !== undefined && { answeredMs }),
    ...(hasAnsweredSilent(health, lan.word, gracePeriod) && { answered: true as const }),
  };
  return { heard, asked, holdMs: unprovenHold, earlierMs };
}

/**
 * Whether the board has answered this leader or an earlier one on the LAN since it fell silent. An answer between two
 * heartbeats does not count, because the board may have died right after it.
 */
export const hasAnsweredSilent = (
  { earlier, probe }: Pick<NodeHealth, "earlier" | "probe">,
  word: LanAnswer | undefined,
  gracePeriod: Millis,
): boolean =>
  earlier?.hasAnswered === true || (word !== undefined && elapsed(probe, word.askedAt) >= shortenedGrace(gracePeriod));

/**
 * The digest of a board's last sign of life, which is stored with an operator's confirmation of its death. `lease`: the
 * resourceVersion of its Lease. A board that never reported has no heartbeat time until the write of Ready=Unknown sets
 * it to the creation time, so that time is used from the start: the digest stays the same.
 */
export const lastSignOf = (node: Node, lease: string | undefined): string => {
  const { uid, creationTimestamp = "" } = node.metadata;
  return digestOfSign([uid, lease ?? "", readyOf(node)?.lastHeartbeatTime ?? creationTimestamp]);
};

/**
 * The time that the board missed in the respites before the current one; undefined if it missed none, or has reported
 * since.
 */
export function missedNow(health: NodeHealth, link: Link): Millis | undefined {
  const { missed } = health;
  if (missed === undefined || !isCurrentRespite(missed, link) || isAfter(silenceBegan(health), missed.since))
    return undefined;
  return Math.floor(missed.length);
}

/** When the measured part of a board's silence began. */
export const silentSince = ({ probe }: Pick<NodeHealth, "probe">, { restoredAt }: Pick<Link, "restoredAt">): Instant =>
  laterOf(probe, restoredAt);

/** How long a board may be silent. */
export const graceOf = (
  hasReady: boolean,
  { gracePeriod, startupGracePeriod }: Pick<NodeLifecycleSettings, "gracePeriod" | "startupGracePeriod">,
): Millis => (hasReady ? gracePeriod : startupGracePeriod);
/** The time up to which both watches have missed nothing; undefined if one of them has no proof. */
const both = ({ nodes, leases }: Link["proof"]): Instant | undefined =>
  nodes && leases && (nodes.mono < leases.mono ? nodes : leases);

/**
 * The health after another sighting. A change of the Lease's resourceVersion or of the heartbeat time is a sign of
 * life, regardless of the new values.
 *
 * As in kube-controller-manager 1.36, after a changed heartbeat the unchanged Lease counts as a sign of life once, in
 * the next pass, which prolongs the grace period by up to one monitor period.
 */
function healthAfter(
  last: NodeHealth | undefined,
  sighting: Sighting,
  { link, settings, now }: Pick<Circumstances, "link" | "settings" | "now">,
): NodeHealth {
  const base =
    last === undefined
      ? firstSight(sighting.node, settings, now)
      : withStatus(last, sighting.node, { link, settings, now });
  return withLease(base, last, sighting, now);
}

function firstSight(node: Node, settings: NodeLifecycleSettings, now: Instant): NodeHealth {
  const ready = readyOf(node);
  const since = ready === undefined ? registeredAt(node, settings, now) : now;
  return {
    uid: node.metadata.uid,
    probe: since,
    transition: since,
    seenAt: now,
    reportedAt: undefined,
    statusAt: undefined,
    ready: beatOf(ready),
    lease: undefined,
    byStatus: false,
    recount: false,
    answered: undefined,
  };
}

/**
 * When the startup grace period of a Node without a status begins: when we first see the Node. Policy `kubernetes` uses
 * the creationTimestamp, which may be read as a time because it is from the API server's clock.
 */
function registeredAt({ metadata }: Node, { policy }: NodeLifecycleSettings, now: Instant): Instant {
  const created = Date.parse(metadata.creationTimestamp ?? "");
  return policy === "kubernetes" && created < now.wall ? shifted(now, created - now.wall) : now;
}

/**
 * The health after reading the board's status. A new Ready condition is a sign of life; the removal of the condition by
 * another client is not, as in kube-controller-manager.
 */
function withStatus(
  last: NodeHealth,
  node: Node,
  { link: { restoredAt }, settings, now }: Pick<Circumstances, "link" | "settings" | "now">,
): NodeHealth {
  const beat = beatOf(readyOf(node));
  if (beat === undefined) return last.ready === undefined ? last : { ...last, ready: undefined };
  const before = last.ready;
  if (before && before.heartbeat === beat.heartbeat) {
    // Marking a board as silent is not a sign of life, even if another leader did it.
    const isSame = before.isUnknown === beat.isUnknown;
    return isSame ? last : { ...last, ready: { ...before, isUnknown: beat.isUnknown } };
  }
  const transition = before && before.transition === beat.transition ? last.transition : now;
  const isFirst = last.statusAt === undefined || (restoredAt !== undefined && isAfter(restoredAt, last.statusAt));
  const statusAt = isFirst ? now : last.statusAt;
  const isBack = settings.policy === "evidence" && before?.isUnknown && !beat.isUnknown;
  const returnedAt = isBack ? now : last.returnedAt;
  const report = { transition, reportedAt: now, statusAt, returnedAt, byStatus: true };
  return { ...last, ready: beat, ...silentSinceNow(now), ...report };
}

/** The start of a new silence, after a sign of life. */
export const silentSinceNow = (now: Instant): Pick<NodeHealth, "probe" | "silentFrom" | "earlier"> => ({
  probe: now,
  silentFrom: undefined,
  earlier: undefined,
});

const beatOf = (ready: NodeCondition | undefined): NodeHealth["ready"] =>
  ready && {
    heartbeat: ready.lastHeartbeatTime,
    transition: ready.lastTransitionTime,
    isUnknown: ready.status === "Unknown",
  };

function withLease(
  base: NodeHealth,
  last: NodeHealth | undefined,
  { lease, answer }: Sighting,
  now: Instant,
): NodeHealth {
  const answered = answer ? { lease: answer.lease, at: now } : base.answered;
  const isNew = (version: string | undefined): boolean =>
    version !== undefined && version !== base.lease && version !== base.answered?.lease;
  if (isNew(lease) || isNew(answer?.lease)) {
    const reportedAt = last === undefined ? undefined : now;
    const beat = { lease: lease ?? base.lease, answered, ...silentSinceNow(now), reportedAt };
    return { ...base, ...beat, byStatus: false, recount: false };
  }
  const isBeat = last !== undefined && base.reportedAt !== last.reportedAt;
  if (isBeat) return { ...base, answered, recount: lease !== undefined };
  if (base.recount && lease !== undefined) return { ...base, answered, ...silentSinceNow(now), recount: false };
  return answered === base.answered ? base : { ...base, answered };
}

/** The board's health after our own write of its conditions, which is not a sign of life. */
export function afterWrite(health: NodeHealth, written: Node, lease: string | undefined, now: Instant): NodeHealth {
  return { ...health, ready: beatOf(readyOf(written)), transition: now, lease: lease ?? health.lease, recount: false };
}

/**
 * The health with `missed` brought up to date after a pass: the total length of the earlier respites in which the board
 * was silent throughout. The same object if nothing changed. Policy `kubernetes` counts no such time: each outage that makes kube-controller-manager exit begins a new
 * grace period.
 */
export function withMissed(
  health: NodeHealth,
  respites: readonly Respite[],
  { link, settings: { policy, gracePeriod } }: Pick<Circumstances, "link" | "settings">,
): NodeHealth {
  const missed = policy === "evidence" ? missedSince(silenceBegan(health), respites, { link, gracePeriod }) : undefined;
  const isSame = missed?.since.mono === health.missed?.since.mono && missed?.length === health.missed?.length;
  return isSame ? health : { ...health, missed };
}
