import type { Lease, Node } from "../api/core.ts";
import { leases, nodes } from "../api/resources.ts";
import { isLifecycleKey, isOutOfService } from "../api/taints.ts";
import type { Instant } from "../base/clock.ts";
import type { Grounds, SilenceFacts } from "../decisions/grounds.ts";
import { type Freeze, freezeOn, type Holds, noHolds } from "../holds/holds.ts";
import { isQuarantineActive, latestQuarantineEnd, linkOf, nextQuarantine } from "../judgement/link.ts";
import { isOperatorConfirmed } from "../judgement/ruling.ts";
import { notLive } from "../judgement/verdict.ts";
import type { SiteView } from "../loop/controller.ts";
import { type LanAnswerOf, noLanAnswer, readyOf } from "./node-lifecycle/health.ts";
import type { SiteMemory } from "./node-lifecycle/memory.ts";
import { sinceConfirmed } from "./node-lifecycle/out-of-service/mark.ts";
import type { NodeLifecycleSettings } from "./node-lifecycle/settings.ts";
import { verdictNow } from "./node-lifecycle/verdict-now.ts";
import { zoneName, zoneOf } from "./node-lifecycle/zones/zones.ts";
import type { ValveAt } from "./safety-valve.ts";

/** Verdicts on boards, for controllers that do not judge boards themselves but act on the result. */
export interface BoardVerdicts {
  /** Why no harmful act may be based on a verdict now, for example because the link is down; undefined if it may. */
  readonly held: string | undefined;
  /**
   * The verdict on a board, with its evidence; undefined if the board has no Node, or if this agent does not judge
   * boards.
   */
  verdictOn(board: string): SilenceFacts | undefined;
  /** The freeze that forbids evictions from a board; undefined if there is none. */
  freezeOn(board: string): Freeze | undefined;
}

export interface BoardVerdictDeps {
  readonly settings: NodeLifecycleSettings;
  /**
   * The memory of the node lifecycle controller, which judges boards; undefined if it has not started yet, "no judge"
   * if it is turned off.
   */
  readonly judge: () => SiteMemory | "no judge" | undefined;
  /** The operators' holds at this time; by default none. */
  readonly holds?: (now: Instant) => Holds;
  /** The safety valve at this time; by default it limits nothing. */
  readonly valve?: ValveAt;
  /** The LAN answers of boards; by default there are none. */
  readonly wordOf?: LanAnswerOf;
}

/** The freeze that covers a board. Without a Node, its zone is unknown, so a freeze of any zone applies. */
export const freezeOnBoard = (holds: Holds, board: string, node: Node | undefined, now: Instant): Freeze | undefined =>
  freezeOn(holds, { board, zone: node && zoneName(zoneOf(node)) }, now);

/**
 * Whether the board for whose loss a pod is evicted or collected is back, according to its Node and Lease in the cache. A
 * taint that another client set is an order, which does not depend on that; under policy `kubernetes` an eviction for our own
 * taints does not either, as in kube-controller-manager.
 */
export function isBoardBack({ because, gate }: Grounds, node: Node | undefined, lease: Lease | undefined): boolean {
  if (node === undefined) return false;
  switch (because.kind) {
    case "node-deleted":
      return true;
    case "out-of-service":
      return !isOutOfService(node) || sinceConfirmed(node, lease) === "heard";
    case "taints": {
      const { taints } = because;
      if (isOperatorConfirmed(taints, gate)) return sinceConfirmed(node, lease) !== "silent";
      return gate.policy !== "kubernetes" && taints.every(isLifecycleKey) && readyOf(node)?.status === "True";
    }
    default:
      return false;
  }
}

/** Verdicts from the cached Nodes and their Leases: a controller that calls this must list both in `reads`. */
export function boardVerdicts(
  { settings, judge, holds: holdsAt = () => noHolds, wordOf = noLanAnswer }: BoardVerdictDeps,
  site: SiteView,
): BoardVerdicts {
  const holds = holdsAt(site.now);
  const link = linkOf({ nodes: site.watch(nodes), leases: site.watch(leases) }, settings, site.now);
  const memory = judge();
  const held = ((): string | undefined => {
    if (!link.live) return notLive.rule;
    if (memory === undefined) return "no board has been checked yet";
    const { gracePeriod } = settings;
    // The node lifecycle controller may not have run since the outage ended, so the quarantine is brought up to date
    // here.
    const isInQuarantine =
      memory === "no judge"
        ? latestQuarantineEnd(link, gracePeriod, site.now) !== undefined
        : isQuarantineActive(nextQuarantine(memory.quarantine, { link, gracePeriod, allReported: false }, site.now));
    return isInQuarantine ? "not every board has reported since the last outage" : undefined;
  })();
  return {
    held,
    verdictOn(board) {
      const node = site.lister(nodes).get(board);
      if (node === undefined || memory === "no judge") return undefined;
      if (held !== undefined) return { verdict: "unknown", rule: held };
      const record = memory?.boards.get(board);
      if (record === undefined) return { verdict: "unknown", rule: "the board has not been checked yet" };
      return verdictNow(node, record, site, { link, holds, settings, wordOf });
    },
    freezeOn: (board) => freezeOnBoard(holds, board, site.lister(nodes).get(board), site.now),
  };
}
