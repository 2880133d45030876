/**
 * Our conclusion about a board.
 *
 * alive: heard within its grace period. unknown: our own view of the API is not live, or the silence is not proven.
 * unproven: silent past the grace period, and only the API could report otherwise. The other three need witnesses
 * besides the API: cut-off (one of them reports that it lives), self-isolated (we reach none of them ourselves), dead
 * (none reports that it lives, and some answer us).
 */
export interface Verdict {
  readonly verdict: "alive" | "unknown" | "unproven" | "cut-off" | "self-isolated" | "dead";
  /** The rule that decided, as a sentence. */
  readonly rule: string;
}

export interface Evidence {
  /** Both watches, of Nodes and of their Leases, are live. */
  readonly live: boolean;
  /** More than its grace period went by since the board was last heard. */
  readonly overdue: boolean;
  /** The API itself confirmed that nothing came within the grace period. */
  readonly proven: boolean;
}

export type Policy = "evidence" | "kubernetes";

/** The four are shared: a site of 5 000 boards remembers one for each board. */
const notLive: Verdict = { verdict: "unknown", rule: "our view of the API is not live" };
const heard: Verdict = { verdict: "alive", rule: "heard within its grace period" };
const unconfirmed: Verdict = { verdict: "unknown", rule: "the API did not confirm the silence" };
const silent: Verdict = { verdict: "unproven", rule: "silent past its grace period, and no witness but the API" };

export function verdictOf({ live, overdue, proven }: Evidence): Verdict {
  if (!live) return notLive;
  if (!overdue) return heard;
  return proven ? silent : unconfirmed;
}

/**
 * Whether a harmful act may follow. A board that was heard again can still carry Ready=Unknown until its kubelet
 * reports: kube-controller-manager taints it in between, although the evidence shows that it lives.
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
    case "self-isolated":
      return false;
    default:
      return verdict satisfies never;
  }
}
