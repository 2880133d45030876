import type { Heard } from "./word.ts";

/**
 * Our conclusion about a board.
 *
 * alive: last heartbeat within its grace period. unknown: our watches are not live, or the silence is not proven.
 * unproven: silent past the grace period, and nothing shows that the board runs. cut-off: silent, but a witness shows
 * that the board runs: its own word, or the leader that runs on it. unmanaged: silent; it says that it runs without its
 * kubelet. dead: silent, and an operator confirmed it. self-isolated: we ourselves reach no witness; no rule produces
 * it yet.
 */
export interface Verdict {
  readonly verdict: "alive" | "unknown" | "unproven" | "cut-off" | "unmanaged" | "self-isolated" | "dead";
  /** The rule that led to the verdict, as a sentence. */
  readonly rule: string;
}

export interface Evidence {
  /** Both watches, of Nodes and of their Leases, are live. */
  readonly live: boolean;
  /** The board has been silent for more than its grace period. */
  readonly overdue: boolean;
  /** The API confirmed that the board sent nothing within the grace period. */
  readonly proven: boolean;
  /** The leader runs on this board, and the policy counts it as a witness. */
  readonly own: boolean;
  /** What the board's own word shows; undefined: there is none, or the policy does not ask for it. */
  readonly heard: Heard | undefined;
}

export type Policy = "evidence" | "kubernetes";

/** Constants, so that the boards share them: the leader remembers a verdict for each of up to 5 000 boards. */
export const notLive: Verdict = { verdict: "unknown", rule: "the watches of Nodes and their Leases are not live" };
const onTime: Verdict = { verdict: "alive", rule: "last heartbeat within its grace period" };
const unconfirmed: Verdict = { verdict: "unknown", rule: "the API did not confirm the silence" };
const silent: Verdict = {
  verdict: "unproven",
  rule: "silent past its grace period; nothing but the API shows whether it runs",
};
const answering: Verdict = {
  verdict: "cut-off",
  rule: "silent past its grace period, but it answers on the LAN, and its kubelet runs",
};
const answeringPartly: Verdict = {
  verdict: "cut-off",
  rule: "silent past its grace period, but it answers on the LAN; whether its kubelet runs is not known",
};
const unmanaged: Verdict = {
  verdict: "unmanaged",
  rule: "silent past its grace period; it answers on the LAN, but its kubelet does not run",
};
const abandoned: Verdict = {
  verdict: "unproven",
  rule: "silent past its grace period; it answers on the LAN, but its kubelet has not run for judgement.unmanagedHold",
};
const leading: Verdict = {
  verdict: "cut-off",
  rule: "silent past its grace period, but the leader runs on this board",
};

export function verdictOf({ live, overdue, proven, own, heard }: Evidence): Verdict {
  if (!live) return notLive;
  if (!overdue) return onTime;
  if (!proven) return unconfirmed;
  if (own) return leading;
  switch (heard) {
    case undefined:
      return silent;
    case "kubelet ok":
      return answering;
    case "kubelet unknown":
      return answeringPartly;
    case "kubelet down":
      return unmanaged;
    case "kubelet down too long":
      return abandoned;
    default:
      return heard satisfies never;
  }
}

/**
 * The silence is proven, so the Node's conditions become Unknown, whether or not a witness shows that the board runs.
 */
export const isSilent = ({ verdict }: Verdict): boolean =>
  verdict === "unproven" || verdict === "dead" || verdict === "cut-off" || verdict === "unmanaged";

/** The board is silent, but a witness shows that it runs. */
export const isWitnessed = ({ verdict }: Verdict): boolean => verdict === "cut-off" || verdict === "unmanaged";

/**
 * Whether the verdict permits harmful acts. A board that sends heartbeats again can still be Ready=Unknown until its
 * kubelet reports; kube-controller-manager taints it in between, although the evidence shows that it lives.
 */
export function permitsHarm({ verdict }: Verdict, policy: Policy): boolean {
  switch (verdict) {
    case "unproven":
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
