import type { Millis } from "../base/clock.ts";

/**
 * The acts whose decisions are all recorded. Pods marked not ready and withdrawn endpoints follow from a marked board;
 * so they are only counted.
 */
export type RecordedAct = "board-marked" | "board-tainted" | "pod-evicted" | "pod-collected" | "pod-replaced";

/** The facts that an act is based on. Times are ages by our own clock, never timestamps of another machine. */
export interface Grounds {
  readonly act: RecordedAct;
  /** The Node of the board. */
  readonly board: string;
  readonly because: Because;
  readonly gate: GateFacts;
}

/**
 * The facts, in addition to `because`, on which the rule of the act depends (`rulingOf` in judgement/ruling.ts). A
 * member that does not apply, or on which this rule does not depend, is absent, because a record has little room.
 */
export interface GateFacts {
  readonly policy?: "evidence" | "kubernetes";
  /** Status of the board's Ready condition; absent if it has none, or one that no kubelet reports. */
  readonly ready?: "True" | "False" | "Unknown";
  /** Set if the watches of Nodes and Leases are not live. */
  readonly notLive?: true;
  /** Set if not every board has sent a heartbeat since the last outage. */
  readonly quarantine?: true;
  /**
   * Set if the board's kubelet may still withdraw its report: less than a grace period has passed since the last
   * outage, since this leader took over the pod's window from an earlier one, or since the kubelet's first report after
   * that. Under policy `kubernetes`, it is also set while the window, counted from the end of the outage, is not over.
   */
  readonly awaited?: true;
  /** The remaining time of the freeze that covers the board. */
  readonly frozenMs?: Millis;
  /** After a freeze: how long until the board's turn. */
  readonly turnInMs?: Millis;
  /** Boards per second that the zone allows. */
  readonly rate?: number;
  /** The tokens in the zone's bucket when it was the board's turn; absent if it was not. */
  readonly level?: number;
  /** Set if the taint needs no token, because it replaces our other taint, or an earlier attempt has taken one. */
  readonly free?: "swap" | "paid";
  /** Set if the pod's window began in an earlier term, or before the last outage. */
  readonly former?: true;
  /** Set if the board's Node was deleted, as confirmed by the API. */
  readonly nodeDeleted?: true;
  /** Set if the cached pod or taints may be outdated. */
  readonly doubtful?: true;
  /**
   * The out-of-service taint is ours, set because an operator confirmed the board dead. heard: the board has given a
   * sign of life since.
   */
  readonly confirmed?: Confirmed;
  /** The limit because of which the safety valve does not admit another act; absent if it does. */
  readonly valve?: ValveLimit;
  /** Set if no kubelet has taken up the pod: it has no Ready condition. */
  readonly newPod?: true;
  /**
   * The gain of an eviction; absent if the decision did not depend on it, because the act is held or not due anyway.
   */
  readonly move?: MoveFacts;
}

/** The known facts about a second copy of a pod on another board. */
export interface MoveFacts {
  /** The controller of the pod. other: one that replaces the pod while the old one still exists. */
  readonly owner: "none" | "StatefulSet" | "DaemonSet" | "other";
  /** The annotation of the pod or its namespace. unknown: its value has no meaning in this version. */
  readonly wish?: OnSilence;
  /** The object that has the annotation. */
  readonly of?: "pod" | "namespace";
  /**
   * Why no other board can take the pod; absent if one can, or if it does not matter. `no board`: no other board is
   * Ready. `placement`: no Ready board suits the pod. `volume`: its volume binds it to boards that are not Ready.
   */
  readonly obstacle?: Obstacle;
}

export type OnSilence = "hold" | "replace-when-lost" | "unknown";
export type Obstacle = "no board" | "placement" | "volume";

/** Why a pod stays on a silent board. */
export type StayReason = "asked" | "asked unclearly" | "no owner" | "StatefulSet" | "DaemonSet" | Obstacle;

/** Whether a board has given a sign of life since an operator confirmed it dead. */
export type Confirmed = "silent" | "heard";

/**
 * The limit that holds harmful acts. acts: the acts of the last hour. pods: the same for acts on pods, because the rest
 * of the limit is kept for taints. share: the share of a namespace. boards: the number of tainted boards. unknown: the
 * acts of the last hour are not known.
 */
export type ValveLimit = "acts" | "pods" | "share" | "boards" | "unknown";

export type Because =
  /** Our verdict about a silent board. */
  | ({ readonly kind: "silence" } & SilenceFacts)
  /** The board's own kubelet reports it as not ready. */
  | { readonly kind: "reported" }
  /**
   * The pod no longer tolerates the NoExecute taints with these keys: it tolerated them for `toleratedMs`, and its
   * window has run for `ranMs`.
   */
  | {
      readonly kind: "taints";
      readonly taints: readonly string[];
      readonly toleratedMs: Millis;
      readonly ranMs: Millis;
      /** Our verdict about the board; absent if this agent judges no boards. */
      readonly silence?: SilenceFacts;
    }
  /**
   * Nothing was decided: another program did it while the controller ran in shadow mode. Includes our verdict about the
   * board at that time, if there was one. `late`: it may have been done earlier, because the watches may have delivered
   * it late.
   */
  | { readonly kind: "seen"; readonly verdict?: VerdictName; readonly rule?: string; readonly late?: true }
  /** The pod's board no longer has a Node, as confirmed by the API. */
  | { readonly kind: "node-deleted" }
  /** The pod was being deleted on a board that an operator declared out of service. */
  | {
      readonly kind: "out-of-service";
      /** The operator who confirmed the board dead, and why; absent if the taint is not ours, or names no operator. */
      readonly by?: string;
      readonly reason?: string;
      /**
       * Our verdict about the board; absent if the declaration does not depend on it, or this agent judges no boards.
       */
      readonly silence?: SilenceFacts;
    };

/** Our conclusion about a board (`Verdict` in judgement/verdict.ts). */
export type VerdictName =
  | "alive"
  | "unknown"
  | "unproven"
  | "lost"
  | "cut-off"
  | "unmanaged"
  | "self-isolated"
  | "dead";

/** Questions on the LAN, and the time over which they were asked, without pauses. */
export interface CountedQuestions {
  readonly questions: number;
  readonly overMs: Millis;
}

/** The results of the leader's questions to a board that did not answer (judgement/lan-silence.ts). */
export interface AskedFacts extends CountedQuestions {
  /** Set if the board answered this leader within the last day. */
  readonly calibrated?: true;
  /** Set if an earlier leader found the board lost, and no leader has heard from it since, by the API or on the LAN. */
  readonly foundLost?: true;
  /**
   * The age of the question to which the silent board last answered this leader that it runs; absent if it never did.
   */
  readonly answeredMs?: Millis;
  /** Set if the board answered this leader after it had missed heartbeats; only questions since then are counted. */
  readonly answered?: true;
  /** The last rounds of questions, if neither several boards nor the gateway answered any of them; absent otherwise. */
  readonly alone?: CountedQuestions;
}

/**
 * The finding from a board's LAN answer (judgement/lan-answer.ts). kubelet down too long: its pods are no longer held.
 * no kubelet since boot: the board was restarted, and since then its kubelet has not reported and does not answer. no
 * pods since boot: its kubelet answers, but has not reached the API server since the restart, so it has started no
 * pods, and that has lasted too long.
 */
export type Heard =
  | "kubelet ok"
  | "kubelet unknown"
  | "kubelet down"
  | "kubelet down too long"
  | "no kubelet since boot"
  | "no pods since boot";

/** The facts that the leader knew about a silent board. */
export interface SilenceFacts {
  readonly verdict: VerdictName;
  /** The rule that led to the verdict, as a sentence. */
  readonly rule: string;
  /**
   * How long the board has been silent, counting only the time in which its heartbeats could arrive; absent if the
   * verdict does not rest on silence, for example because the board has not been examined yet.
   */
  readonly silentMs?: Millis;
  /** How long a board may be silent. */
  readonly graceMs?: Millis;
  /** How long the board was silent between earlier outages while other boards sent heartbeats; absent if it was not. */
  readonly missedMs?: Millis;
  /**
   * Set if the board has sent nothing since this leader began to watch it, so that `silentMs` is measured from then on.
   */
  readonly unheard?: true;
  /** The age of the last proof that nothing was missed; absent if there is none. */
  readonly provenMs?: Millis;
  /** Set if the watches of Nodes and Leases were not live when the board was examined. */
  readonly notLive?: true;
  /** Set if the leader runs on this board and the policy counts it as a witness. */
  readonly own?: true;
  /** The finding from the board's LAN answer; absent if it gave none, or was not asked. */
  readonly heard?: Heard;
  /**
   * The results of the questions that the board did not answer; absent if it answered, if it was not asked, or if no
   * board of the site answers this leader.
   */
  readonly asked?: AskedFacts;
  /** How long harmful acts are held if those questions show nothing. */
  readonly holdMs?: Millis;
  /** How long the board was silent under earlier leaders, which counts towards that time. */
  readonly earlierMs?: Millis;
  /** Set if harmful acts are held until the end of that time. */
  readonly held?: true | undefined;
  /** The operator who confirmed that the board's zone is dead. */
  readonly confirmedBy?: string;
  readonly zone?: { readonly name: string; readonly state: string };
}

/** Why a due act is held back. */
export type Restraint =
  /** The watches for Nodes and Leases are not live. */
  | { readonly why: "not-live" }
  /** Since the outage, not every board has sent a heartbeat. */
  | { readonly why: "quarantine" }
  /** The kubelet may soon withdraw its report that the board is not ready. */
  | { readonly why: "report" }
  /** The verdict on the board does not permit harm. */
  | { readonly why: "verdict"; readonly verdict: string; readonly rule: string }
  /** The safety valve is shut because too many acts were done within an hour, or too many boards are tainted. */
  | {
      readonly why: "valve";
      readonly of: ValveLimit;
      readonly count: number;
      readonly limit: number;
    }
  /** Too many boards of the zone are not ready, so its rate is 0. */
  | { readonly why: "zone"; readonly zone: string; readonly state: string }
  /** An operator froze evictions, or quiet hours are in force. */
  | {
      readonly why: "freeze";
      readonly scope: string;
      readonly target?: string;
      readonly by: string;
      readonly reason?: string;
      readonly leftMs: Millis;
    }
  /** After a freeze, the boards take turns. */
  | { readonly why: "turn"; readonly leftMs: Millis }
  /**
   * An eviction would gain nothing, or an annotation keeps the pod where it is. `of`: the object with that annotation.
   */
  | { readonly why: "no-gain"; readonly reason: StayReason; readonly of?: "pod" | "namespace" };
