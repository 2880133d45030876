import { isLifecycleKey, outOfServiceKey, taintKeys } from "../api/taints.ts";
import { hasToken } from "../base/token-bucket.ts";
import type { Because, GateFacts, Grounds, Restraint, SilenceFacts } from "../decisions/grounds.ts";
import { reasonToStay } from "./gain.ts";
import {
  type Evidence,
  isSilent,
  isWitnessed,
  outlastsConfirmation,
  permitsHarm,
  type Verdict,
  verdictOf,
} from "./verdict.ts";

/** The decision about a harmful act: it is done, held back for a reason, or not due; a board that waits is not due. */
export type Ruling = "act" | "not-due" | Restraint["why"];

/**
 * Decides about a harmful act. Controllers act by this rule, and only on the facts that the act's record keeps, so a
 * record can be decided again (docs/judgement.md#decision-records).
 */
export function rulingOf({ act, because, gate }: Grounds): Ruling {
  switch (act) {
    case "board-marked":
      return because.kind === "silence" && isToMark(because, gate.ready) ? "act" : "not-due";
    case "board-tainted":
      return taintRuling(because, gate);
    case "pod-evicted":
      return because.kind === "taints" ? evictionRuling(because, gate) : "not-due";
    case "pod-replaced":
      if (because.kind !== "silence" || gate.ready !== "Unknown") return "not-due";
      return freezeRuling(gate) ?? whyNotOnVerdict(because, gate) ?? "act";
    case "pod-collected":
      if (because.kind === "node-deleted") return valveOn(undefined, gate) ?? "act";
      if (because.kind !== "out-of-service") return "not-due";
      return (gate.confirmed && whyNotOnConfirmation(because.silence, gate)) ?? "act";
    default:
      return act satisfies never;
  }
}

/**
 * Whether the conditions of a silent board have to be written. If Ready is already Unknown, the other conditions alone
 * are not worth a write.
 */
export const isToMark = (verdict: JudgedBy, ready: string | undefined): boolean =>
  isSilent(verdict) && ready !== "Unknown";

/** A verdict, or the facts that contain one. */
type JudgedBy = Pick<SilenceFacts, "verdict" | "held">;

/** The conditions, besides the verdict on a board, that decide whether harm is permitted. */
export type HarmConditions = Pick<GateFacts, "policy" | "notLive" | "quarantine">;

/**
 * Why our verdict about a board permits no harm now; undefined if it permits harm. A missing verdict means that this
 * agent judges no boards.
 */
export function whyNotOnVerdict(
  verdict: JudgedBy | undefined,
  { policy, notLive, quarantine }: HarmConditions,
): "not-live" | "quarantine" | "verdict" | undefined {
  if (notLive) return "not-live";
  if (quarantine) return "quarantine";
  return verdict && !permitsHarm(verdict, policy) ? "verdict" : undefined;
}

const freezeRuling = ({ frozenMs }: Pick<GateFacts, "frozenMs">): "freeze" | undefined =>
  frozenMs !== undefined && frozenMs > 0 ? "freeze" : undefined;

/**
 * Whether the safety valve limits acts that rest on a verdict. It does not if an operator confirmed that the board is
 * dead.
 */
export const isLimited = (verdict: JudgedBy | undefined): boolean => verdict?.verdict !== "dead";

/**
 * Whether the safety valve holds an act. It does not limit acts on a board that an operator confirmed dead, nor the
 * deletion of pods that no kubelet has taken up, because a tenant may bind any number of those to a lost board.
 */
const valveOn = (
  verdict: JudgedBy | undefined,
  { valve, newPod, confirmed }: Pick<GateFacts, "valve" | "newPod" | "confirmed">,
): "valve" | undefined =>
  valve !== undefined && !newPod && confirmed !== "silent" && isLimited(verdict) ? "valve" : undefined;

/**
 * Why a board must not be tainted NoExecute now, regardless of what its zone allows. `silence`: undefined if its
 * kubelet reports.
 */
export const whyNotToTaint = (
  silence: JudgedBy | undefined,
  gate: HarmConditions & Pick<GateFacts, "frozenMs" | "valve" | "confirmed">,
): Restraint["why"] | undefined => whyNotToTaintBesidesValve(silence, gate) ?? (silence && valveOn(silence, gate));

const whyNotToTaintBesidesValve = (
  silence: JudgedBy | undefined,
  gate: HarmConditions & Pick<GateFacts, "frozenMs">,
): Restraint["why"] | undefined => freezeRuling(gate) ?? (silence && whyNotOnVerdict(silence, gate));

/**
 * The ruling on a NoExecute taint. The report of a living kubelet needs no verdict. `zone` holds the board back while
 * its zone allows no taints at all; otherwise a board without a token waits for its turn. A shut safety valve is the
 * reason only if nothing else is, because operators release it for the whole site.
 */
function taintRuling(because: Because, gate: GateFacts): Ruling {
  const silence = because.kind === "silence" && gate.ready === "Unknown" ? because : undefined;
  const isReported = because.kind === "reported" && gate.ready === "False";
  if (!isReported && silence === undefined) return "not-due";
  const restraint = whyNotToTaintBesidesValve(silence, gate);
  if (restraint) return restraint;
  const hasTurn = gate.free !== undefined || (gate.level !== undefined && hasToken({ level: gate.level }));
  if (!hasTurn && gate.rate === 0) return "zone";
  return (silence && valveOn(silence, gate)) ?? (hasTurn ? "act" : "not-due");
}

type TaintFacts = Extract<Because, { readonly kind: "taints" }>;

/**
 * The ruling on the eviction of a pod. A freeze or a broken link holds back the evictions that our own taints cause;
 * the verdict, the gain and the safety valve hold back only those that our verdict causes. A taint set by another
 * client is an order.
 */
function evictionRuling({ taints, toleratedMs, ranMs, silence }: TaintFacts, gate: GateFacts): Ruling {
  if (ranMs < toleratedMs) return "not-due";
  if (isOperatorConfirmed(taints, gate))
    return whyNotOnConfirmation(silence, gate) ?? (gate.doubtful ? "not-due" : "act");
  if (taints.every(isLifecycleKey)) {
    const hold = freezeRuling(gate) ?? (gate.turnInMs !== undefined && gate.turnInMs > 0 ? "turn" : undefined);
    if (hold) return hold;
    const isUpstreams = gate.policy === "kubernetes" && !gate.former;
    if (silence && !isUpstreams && isBack(silence, gate)) return "verdict";
    const restraint = isCausedByUs(taints, gate)
      ? (whyNotOnVerdict(silence, gate) ?? gainRuling(silence, gate) ?? valveOn(silence, gate))
      : whyNotOnReport(gate);
    if (restraint) return restraint;
  }
  return gate.doubtful ? "not-due" : "act";
}

/**
 * Whether a pod stays on its silent board because an eviction would gain nothing. An operator who confirmed the board
 * dead knows that the pod does not run.
 */
const gainRuling = (
  silence: JudgedBy | undefined,
  { policy, move }: Pick<GateFacts, "policy" | "move">,
): "no-gain" | undefined =>
  policy === "evidence" && silence?.verdict !== "dead" && move && reasonToStay(move) ? "no-gain" : undefined;

/**
 * Why the report of a kubelet permits no eviction now. It may be outdated: while the link is down the kubelet cannot
 * withdraw it, and afterwards it needs a moment to do so.
 */
const whyNotOnReport = ({ notLive, awaited }: GateFacts): "not-live" | "report" | undefined => {
  if (notLive) return "not-live";
  return awaited ? "report" : undefined;
};

/**
 * Whether an eviction rests on an operator's confirmation that the board is dead: our out-of-service taint carries the
 * confirmation out, and no taint of another client asks for the eviction.
 */
export const isOperatorConfirmed = (taints: readonly string[], { confirmed }: Pick<GateFacts, "confirmed">): boolean =>
  confirmed !== undefined &&
  taints.includes(outOfServiceKey) &&
  taints.every((key) => key === outOfServiceKey || isLifecycleKey(key));

/**
 * Why an act that follows from an operator's confirmation is held. The operator confirmed that a silent board is dead.
 * So under both policies the board must still be silent by this leader's own verdict, and must have given no sign of
 * life since.
 */
function whyNotOnConfirmation(
  silence: (JudgedBy & Pick<SilenceFacts, "asked">) | undefined,
  gate: Pick<GateFacts, "notLive" | "quarantine" | "confirmed">,
): "not-live" | "quarantine" | "verdict" | undefined {
  if (gate.confirmed === "heard") return "verdict";
  const { notLive, quarantine } = gate;
  const restraint = whyNotOnVerdict(undefined, { ...(notLive && { notLive }), ...(quarantine && { quarantine }) });
  if (restraint || silence === undefined) return restraint;
  // The confirmation takes the place of the evidence that a held verdict waits for.
  return isSilent(silence) && !isWitnessed(silence) && !outlastsConfirmation(silence) ? undefined : "verdict";
}

/**
 * Whether taints follow from our verdict: unreachable always, not-ready only if the board has fallen silent since or
 * its Node is gone.
 */
export const isCausedByUs = (
  taints: readonly string[],
  { ready, nodeDeleted }: Pick<GateFacts, "ready" | "nodeDeleted">,
): boolean =>
  taints.every(
    (key) => key === taintKeys.unreachable || (key === taintKeys.notReady && (ready === "Unknown" || nodeDeleted)),
  );

/**
 * Whether the kubelet reports ready and no evidence contradicts it: in that case the next monitor pass removes the
 * taint. Until then, kube-controller-manager evicts a pod whose window ends. A new process of it, also one that started
 * after an outage, would remove the taint first, and start a new window if the taint came back.
 */
const isBack = (silence: JudgedBy, { ready }: GateFacts): boolean =>
  ready === "True" && !permitsHarm(silence, "evidence");

/** The facts of a record about a board's silence; without evidence, the verdict rests on something else. */
export const silenceFacts = ({ verdict, rule, held }: Verdict, evidence: Evidence | undefined): SilenceFacts => ({
  verdict,
  rule,
  ...(held && { held }),
  ...(evidence && {
    silentMs: evidence.silentMs,
    graceMs: evidence.graceMs,
    ...(evidence.missedMs !== undefined && { missedMs: evidence.missedMs }),
    ...(evidence.provenMs !== undefined && { provenMs: evidence.provenMs }),
    ...(!evidence.live && { notLive: true }),
    ...(evidence.own && { own: true }),
    ...(evidence.heard !== undefined && { heard: evidence.heard }),
    ...(evidence.asked !== undefined && { asked: evidence.asked, holdMs: evidence.holdMs ?? 0 }),
    ...(evidence.earlierMs !== undefined && { earlierMs: evidence.earlierMs }),
    ...(evidence.confirmedBy !== undefined && { confirmedBy: evidence.confirmedBy }),
  }),
});

/** The evidence in the facts of a record; undefined if the verdict does not rest on silence. */
function evidenceIn({
  silentMs,
  graceMs,
  missedMs,
  provenMs,
  notLive,
  own,
  heard,
  asked,
  holdMs,
  earlierMs,
  confirmedBy,
}: SilenceFacts): Evidence | undefined {
  if (silentMs === undefined || graceMs === undefined) return undefined;
  const lan = { heard, asked, holdMs, earlierMs };
  return { live: !notLive, silentMs, graceMs, missedMs, provenMs, own: own === true, ...lan, confirmedBy };
}

/** A decision that was made again from the facts of a record. */
export interface RepeatedDecision {
  readonly ruling: Ruling;
  /** The verdict and its rule; absent if the act rests on no verdict. */
  readonly verdict?: string;
  readonly rule?: string;
}

/** Re-evaluates a record from its facts: first the verdict from its evidence, then the act. */
export function decideAgain(grounds: Grounds): RepeatedDecision {
  const { because } = grounds;
  switch (because.kind) {
    case "silence": {
      const judged = { ...because, held: undefined, ...verdictAgain(because) };
      const { verdict, rule } = judged;
      return { ruling: rulingOf({ ...grounds, because: judged }), verdict, rule };
    }
    case "taints":
    case "out-of-service": {
      const { silence } = because;
      if (silence === undefined) return { ruling: rulingOf(grounds) };
      const judged = { ...silence, held: undefined, ...verdictAgain(silence) };
      const { verdict, rule } = judged;
      return { ruling: rulingOf({ ...grounds, because: { ...because, silence: judged } }), verdict, rule };
    }
    default:
      return { ruling: rulingOf(grounds) };
  }
}

function verdictAgain(facts: SilenceFacts): Verdict {
  const evidence = evidenceIn(facts);
  return evidence ? verdictOf(evidence) : facts;
}
