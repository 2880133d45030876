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

/** How well we see the boards, for controllers that do not judge them and whose acts rest on it all the same. */
export interface BoardVerdicts {
  /** Why nothing harmful may rest on any verdict now: we are blind, or an outage was over just now. Undefined: it may. */
  readonly held: string | undefined;
  /** What is held to be true of a board; undefined: it has no Node, or nobody judges boards here. */
  verdictOn(board: string): Verdict | undefined;
  /** The freeze in whose scope nobody is evicted from a board; undefined: none covers it. */
  freezeOn(board: string): Freeze | undefined;
}

export interface SightParts {
  readonly settings: NodeLifecycleSettings;
  /** Of those who judge the boards; undefined: they have not begun yet. */
  readonly judge: () => SiteMemory | "by nobody" | undefined;
  /** What operators hold back; left out: nothing ever. */
  readonly holds?: (now: Instant) => Holds;
}

/** The zone of a board whose Node is gone is not known: it may be any. */
export const freezeOnBoard = (holds: Holds, board: string, node: Node | undefined, now: Instant): Freeze | undefined =>
  freezeOn(holds, { board, zone: node && zoneName(zoneOf(node)) }, now);

/** Reads Nodes and their Leases: whoever asks has to list both in its `reads`. */
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
    // Those who judge may not have looked since the outage was over.
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
