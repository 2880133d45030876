import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Heard } from "../decisions/grounds.ts";

/**
 * The state of a board's kubelet, as its agent reports it. unknown: the kubelet has never answered the agent, or cannot
 * be asked. down: it has answered before, and has not for `forMs`.
 */
export type KubeletState =
  | { readonly is: "ok" }
  | { readonly is: "unknown" }
  | { readonly is: "down"; readonly forMs: Millis };

/** The signed answer to a question of the leader, from a board that sends the API no heartbeats. */
export interface LanAnswer {
  /** When the question was sent: the board was running at that time or later. */
  readonly askedAt: Instant;
  /** The number of questions sent to the board since. */
  readonly asked: number;
  readonly kubelet: KubeletState;
  /** Whether the board was restarted after its kubelet last reported to the API server. */
  readonly isRebooted?: true;
}

/**
 * How long an answer proves that its board is running, and how many later questions must also have gone unanswered
 * before it stops doing so. The second condition is needed because time in which the leader was suspended, and so sent
 * no questions, is not silence of the board.
 */
export const answerValidFor: Millis = 30_000;
const minLaterQuestions = 6;

/** How long ago the board last answered that it runs pods, or may; undefined if it answered that it does not. */
export const sinceAnswer = ({ askedAt, kubelet, isRebooted }: LanAnswer, now: Instant): Millis | undefined =>
  kubelet.is === "down" || isRebooted ? undefined : Math.floor(elapsed(askedAt, now));

export interface HeardLimits {
  /** How long the board has sent no heartbeat, its grace period included. */
  readonly silentMs: Millis;
  readonly graceMs: Millis;
  readonly unmanagedHold: Millis;
}

/** The finding from a board's last LAN answer; undefined if there is no answer, or it is too old. */
export function heardNow(
  word: LanAnswer | undefined,
  { silentMs, graceMs, unmanagedHold }: HeardLimits,
  now: Instant,
): Heard | undefined {
  if (word === undefined) return undefined;
  const age = elapsed(word.askedAt, now);
  if (age > answerValidFor && word.asked >= minLaterQuestions) return undefined;
  // Containers outlive their kubelet, but not the boot: after a reboot, nothing runs until a kubelet starts it (D172).
  if (word.isRebooted && word.kubelet.is !== "ok") return "no kubelet since boot";
  switch (word.kubelet.is) {
    case "ok":
      // A kubelet starts no pods before it has read them from the API server, and this boot began when the board was
      // already silent.
      return word.isRebooted && silentMs - graceMs >= unmanagedHold ? "no pods since boot" : "kubelet ok";
    case "unknown":
      return "kubelet unknown";
    case "down":
      // The kubelet sent the last heartbeat, so it ran then, even if another process held its health port.
      return Math.min(word.kubelet.forMs + age, silentMs) < unmanagedHold ? "kubelet down" : "kubelet down too long";
    default:
      return word.kubelet satisfies never;
  }
}
