import type { Millis } from "../base/clock.ts";
import type { AskedFacts, Heard, VerdictName } from "../decisions/grounds.ts";
import { type LanSilence, lanSilenceOf } from "./lan-silence.ts";
import { shortenedGrace } from "./respites.ts";

/**
 * Our conclusion about a board.
 *
 * alive: its grace period, counted from its last heartbeat or from when the leader began to receive heartbeats, has not
 * ended. unknown: our watches are not live, or the silence is not proven. unproven: silent past the grace period, and
 * nothing shows whether the board runs. lost: silent; it also does not answer on the LAN, where it answered before, or
 * it answers, but nothing there runs its pods. cut-off: silent, but a witness shows that the board runs: its LAN
 * answer, or the leader that runs on it. unmanaged: silent; it answers on the LAN that it runs without its kubelet.
 * dead: silent, and an operator confirmed that it is dead. self-isolated: silent, but no board answers the leader on
 * the LAN, so the fault may be the leader's own.
 */
export interface Verdict {
  readonly verdict: VerdictName;
  /** The rule that led to the verdict, as a sentence. */
  readonly rule: string;
  /** Set if harmful acts are held because the LAN should know more, for at most `judgement.unprovenHold`. */
  readonly held?: true | undefined;
}

/** The facts about a board's silence that the verdict rests on. Ages are in whole milliseconds. */
export interface Evidence {
  /** Whether both watches, of Nodes and of their Leases, were live. */
  readonly live: boolean;
  /** How long the board has been silent, counting only the time in which its heartbeats could reach the leader. */
  readonly silentMs: Millis;
  /** How long a board may be silent. */
  readonly graceMs: Millis;
  /** How long the board was silent between earlier outages while others sent heartbeats; undefined if it was not. */
  readonly missedMs?: Millis | undefined;
  /** The age of the last proof that no sign of life was missed; undefined if there is none. */
  readonly provenMs: Millis | undefined;
  /** Whether the leader runs on this board and the policy counts it as a witness. */
  readonly own: boolean;
  /** The finding from the board's LAN answer; undefined if there is none, or the policy does not ask for one. */
  readonly heard: Heard | undefined;
  /** The results of questions that the board did not answer; undefined if the LAN says nothing about it. */
  readonly asked?: AskedFacts | undefined;
  /** How long harmful acts are held if those questions show nothing; undefined if there are none. */
  readonly holdMs?: Millis | undefined;
  /** How long the board was silent under earlier leaders; may include the time in `missedMs`. */
  readonly earlierMs?: Millis | undefined;
  /** The operator who confirmed that the board's zone is dead; undefined if none has. */
  readonly confirmedBy: string | undefined;
}

export type Policy = "evidence" | "kubernetes";

/** Constants, so that boards share them, because the leader remembers a verdict for each of up to 5 000 boards. */
export const notLive: Verdict = { verdict: "unknown", rule: "the watches of Nodes and their Leases are not live" };
const onTime: Verdict = { verdict: "alive", rule: "its grace period has not ended" };
const unconfirmed: Verdict = { verdict: "unknown", rule: "the API did not confirm the silence" };
const silent: Verdict = {
  verdict: "unproven",
  rule: "silent past its grace period, and no other source can say whether it runs",
};
const missing: Verdict = {
  verdict: "unproven",
  rule: "silent between several outages, while other boards were heard",
};
const answering: Verdict = {
  verdict: "cut-off",
  rule: "silent past its grace period, but it answers on the LAN, and its kubelet is running",
};
const answeringPartly: Verdict = {
  verdict: "cut-off",
  rule: "silent past its grace period, but it answers on the LAN; whether its kubelet is running is unknown",
};
const unmanaged: Verdict = {
  verdict: "unmanaged",
  rule: "silent past its grace period; it answers on the LAN, but its kubelet is not running",
};
const abandoned: Verdict = {
  verdict: "lost",
  rule: "silent past its grace period; it answers on the LAN, but its kubelet has not run for judgement.unmanagedHold",
};
const idle: Verdict = {
  verdict: "lost",
  rule: "silent past its grace period; it answers on the LAN, but it was restarted and its kubelet has not reported since",
};
const empty: Verdict = {
  verdict: "lost",
  rule: "silent past its grace period; it answers on the LAN, but it was restarted, and its kubelet has not reached the API server to start pods for judgement.unmanagedHold",
};
const leading: Verdict = {
  verdict: "cut-off",
  rule: "silent past its grace period, but the leader runs on this board",
};

const gone: Verdict = {
  verdict: "lost",
  rule: "silent past its grace period; it also does not answer on the LAN, where it answered before and others answer now",
};
const open: Verdict = {
  verdict: "unproven",
  rule: "silent past its grace period; not enough questions on the LAN show whether it runs (judgement.unprovenHold)",
  held: true,
};
const unheard: Verdict = {
  verdict: "unproven",
  rule: "silent past its grace period; it has never answered this leader on the LAN, as others do (judgement.unprovenHold)",
  held: true,
};
const isolated: Verdict = {
  verdict: "self-isolated",
  rule: "silent past its grace period, but neither other boards nor the gateway answer this leader on the LAN (judgement.unprovenHold)",
  held: true,
};
const heldLongEnough: Verdict = {
  verdict: "unproven",
  rule: "silent past its grace period, and for judgement.unprovenHold the LAN did not show whether it runs",
};

/** The verdict on a silent board that does not answer on the LAN. */
const unanswered: Readonly<Record<LanSilence, Verdict>> = { gone, open, unheard, isolated };

/** The verdict on a silent board for each finding from its LAN answer. */
const spoken: Readonly<Record<Heard, Verdict>> = {
  "kubelet ok": answering,
  "kubelet unknown": answeringPartly,
  "kubelet down": unmanaged,
  "kubelet down too long": abandoned,
  "no kubelet since boot": idle,
  "no pods since boot": empty,
};

/**
 * A board that has missed this many grace periods between outages is allowed only a quarter of one after the next
 * outage. An operator's confirmation has the same effect if the board missed any time at all.
 */
const missedPeriods = 3;

function graceFor({ graceMs, missedMs = 0, confirmedBy }: Evidence): Millis {
  const hasMissed = missedMs >= missedPeriods * graceMs || (missedMs > 0 && confirmedBy !== undefined);
  return hasMissed ? shortenedGrace(graceMs) : graceMs;
}

export function verdictOf(evidence: Evidence): Verdict {
  const { live, silentMs, graceMs, provenMs, own, heard, confirmedBy } = evidence;
  if (!live) return notLive;
  const patience = graceFor(evidence);
  if (silentMs <= patience) return onTime;
  // The silence is measured up to the proof.
  if (provenMs === undefined || silentMs - provenMs <= patience) return unconfirmed;
  if (own) return leading;
  const said = heard && spoken[heard];
  if (said && isWitnessed(said)) return said;
  const found = unansweredBy(evidence);
  if (confirmedBy === undefined) return said ?? found ?? (silentMs > graceMs ? silent : missing);
  if (found && outlastsConfirmation({ ...found, asked: evidence.asked })) return found;
  return { verdict: "dead", rule: `silent past its grace period, and ${confirmedBy} confirmed that it is dead` };
}

/**
 * Whether a held verdict holds even if an operator confirmed the board dead. If the board has answered on the LAN since it
 * fell silent, the confirmation may be older than that answer, or mistaken.
 */
export const outlastsConfirmation = ({ held, asked }: Pick<Verdict, "held"> & Pick<Evidence, "asked">): boolean =>
  held === true && asked?.answered === true;

/** The verdict from the questions that the board did not answer; undefined if the LAN says nothing about it. */
function unansweredBy(evidence: Evidence): Verdict | undefined {
  if (evidence.asked === undefined) return undefined;
  const found = unanswered[lanSilenceOf(evidence.asked)];
  return found.held && holdLeft(evidence) === undefined ? heldLongEnough : found;
}

/** How much is left of the time for which a silent board is held if nothing is known of it; undefined if it is over. */
export function holdLeft(evidence: Evidence): Millis | undefined {
  const left = evidence.graceMs + (evidence.holdMs ?? 0) - unexplainedSilence(evidence);
  return left >= 0 ? left : undefined;
}

/**
 * How long nothing has shown that the board runs, its grace period included. A hold begins with the last answer on the
 * LAN: a board that answered throughout a long outage of its link must not lose its pods as soon as the LAN fails as
 * well.
 */
export const unexplainedSilence = (
  evidence: Pick<Evidence, "silentMs" | "missedMs" | "earlierMs" | "graceMs" | "asked">,
): Millis =>
  Math.min(wholeSilence(evidence), evidence.graceMs + (evidence.asked?.answeredMs ?? Number.POSITIVE_INFINITY));

/**
 * How long the board has been silent, earlier terms included. A leader that has led before may itself remember time
 * that earlier leaders also passed on, so only the longer of these two counts.
 */
export const wholeSilence = ({
  silentMs,
  missedMs = 0,
  earlierMs = 0,
}: Pick<Evidence, "silentMs" | "missedMs" | "earlierMs">): Millis => silentMs + Math.max(missedMs, earlierMs);

/**
 * Whether the silence is proven. The Node's conditions then become Unknown, even if a witness shows that the board
 * runs.
 */
export const isSilent = ({ verdict }: Pick<Verdict, "verdict">): boolean =>
  verdict === "unproven" ||
  verdict === "lost" ||
  verdict === "dead" ||
  verdict === "self-isolated" ||
  isWitnessed({ verdict });

/** Whether the board is silent, but a witness shows that it runs. */
export const isWitnessed = ({ verdict }: Pick<Verdict, "verdict">): boolean =>
  verdict === "cut-off" || verdict === "unmanaged";

/**
 * Whether the verdict permits harmful acts. A board that sends heartbeats again can still be Ready=Unknown until its
 * kubelet reports; kube-controller-manager taints it in between, although the evidence shows that it lives.
 */
export function permitsHarm({ verdict, held }: Pick<Verdict, "verdict" | "held">, policy: Policy | undefined): boolean {
  switch (verdict) {
    case "unproven":
      return held !== true;
    case "lost":
    case "dead":
      return true;
    case "alive":
      return policy === "kubernetes";
    case "unknown":
    case "cut-off":
    case "unmanaged":
    case "self-isolated":
      return false;
    default:
      return verdict satisfies never;
  }
}
