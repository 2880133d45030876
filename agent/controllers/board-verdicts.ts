import type { Node } from "../api/core.ts";
import { leases, nodes } from "../api/resources.ts";
import type { Instant } from "../base/clock.ts";
import { type Freeze, freezeOn, type Holds, noHolds } from "../holds/holds.ts";
import { heldUntil, isHeld, linkOf, nextQuarantine } from "../judgement/link.ts";
import type { Verdict } from "../judgement/verdict.ts";
import type { SiteView } from "../loop/controller.ts";
import type { SiteMemory } from "./node-lifecycle/memory.ts";
import type { NodeLifecycleSettings } from "./node-lifecycle/settings.ts";
import { verdictNow } from "./node-lifecycle/verdict-now.ts";
import { zoneName, zoneOf } from "./node-lifecycle/zones.ts";

/** Verdicts on boards, for controllers that do not judge boards themselves but act on the result. */
export interface BoardVerdicts {
  /**
   * Why no harmful act may be based on a verdict now: the link is down, or an outage ended just now. Undefined: it may.
   */
  readonly held: string | undefined;
  /** The verdict on a board; undefined: it has no Node, or no controller judges boards here. */
  verdictOn(board: string): Verdict | undefined;
  /** The freeze that forbids evictions from a board; undefined: none. */
  freezeOn(board: string): Freeze | undefined;
}

export interface SightParts {
  readonly settings: NodeLifecycleSettings;
  /** Memory of the controller that judges boards; undefined: it has not started yet. */
  readonly judge: () => SiteMemory | "by nobody" | undefined;
  /** The operators' holds; default: none. */
  readonly holds?: (now: Instant) => Holds;
}

/** Without a Node the zone is unknown, and a freeze of any zone applies. */
export const freezeOnBoard = (holds: Holds, board: string, node: Node | undefined, now: Instant): Freeze | undefined =>
  freezeOn(holds, { board, zone: node && zoneName(zoneOf(node)) }, now);

/** Reads Nodes and their Leases: a controller that calls this must list both in `reads`. */
export function sightOf(
  { settings, judge, holds: holdsAt = () => noHolds }: SightParts,
  site: SiteView,
): BoardVerdicts {
  const holds = holdsAt(site.now);
  const link = linkOf({ nodes: site.watch(nodes), leases: site.watch(leases) }, settings, site.now);
  const memory = judge();
  const held = ((): string | undefined => {
    if (!link.live) return "our view of the API is not live";
    if (memory === undefined) return "no board was looked at yet";
    const { gracePeriod } = settings;
    // The judging controller may not have run since the outage ended.
    const isInQuarantine =
      memory === "by nobody"
        ? heldUntil(link, gracePeriod, site.now) !== undefined
        : isHeld(nextQuarantine(memory.quarantine, { link, gracePeriod, allHeard: false }, site.now));
    return isInQuarantine ? "not every board was heard again since the last outage" : undefined;
  })();
  return {
    held,
    verdictOn(board) {
      const node = site.lister(nodes).get(board);
      if (node === undefined || memory === "by nobody") return undefined;
      if (held !== undefined) return { verdict: "unknown", rule: held };
      const record = memory?.boards.get(board);
      if (record === undefined) return { verdict: "unknown", rule: "was not looked at yet" };
      return verdictNow(node, record, site, { link, holds, settings });
    },
    freezeOn: (board) => freezeOnBoard(holds, board, site.lister(nodes).get(board), site.now),
  };
}
