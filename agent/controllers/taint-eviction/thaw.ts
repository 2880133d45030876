import type { Node } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { inTextOrder } from "../../base/text/text-order.ts";
import type { Restraint } from "../../decisions/grounds.ts";
import { type Freeze, type Holds, slowAfter } from "../../holds/holds.ts";
import type { SiteView } from "../../loop/controller.ts";
import { freezeOnBoard } from "../board-verdicts.ts";
import type { NodeLifecycleSettings } from "../node-lifecycle/settings.ts";
import { runningTaint } from "../node-lifecycle/taints.ts";
import { zoneName, zoneOf } from "../node-lifecycle/zones/zones.ts";
import { freezeRestraint } from "../restraints.ts";

type Rates = Pick<NodeLifecycleSettings, "evictionRate" | "secondaryRate">;

/** Holds evictions back until `until`, because of `restraint`. */
export interface EvictionHold {
  readonly until: Instant;
  readonly restraint: Restraint;
}

/** How long the sorted boards are reused: sorting them for every pod would cost too much. */
const freshness: Millis = 1000;

/**
 * Spreads the evictions after a freeze, when the windows of many pods have expired. The boards with our taint take
 * turns: at the secondary rate until the freeze's `slowEnd`, then at the usual rate.
 */
export class Thaw {
  readonly #rates: Rates;
  #order: { readonly at: Instant; readonly boards: readonly string[] } | undefined;

  constructor({ evictionRate, secondaryRate }: Rates) {
    this.#rates = { evictionRate, secondaryRate };
  }

  /** The hold on evictions from the board; undefined if there is none. */
  holdOn(
    holds: Holds,
    { board, node }: { readonly board: string; readonly node: Node | undefined },
    site: SiteView,
  ): EvictionHold | undefined {
    if (holds.freezes.size === 0) return undefined;
    const { now } = site;
    const freeze = freezeOnBoard(holds, board, node, now);
    if (freeze) return { until: freeze.end, restraint: freezeRestraint(freeze, now) };
    const slow = node && slowAfter(holds, zoneName(zoneOf(node)), now);
    if (slow === undefined) return undefined;
    const until = turnAfter(slow, this.#boardsInOrder(site).indexOf(board), this.#rates);
    return { until, restraint: { why: "turn", leftMs: Math.round(elapsed(now, until)) } };
  }

  /**
   * The boards with our taint, sorted by its timeAdded. These are texts from one server, which are compared but never
   * parsed.
   */
  #boardsInOrder(site: SiteView): readonly string[] {
    if (this.#order && elapsed(this.#order.at, site.now) < freshness) return this.#order.boards;
    const tainted: { readonly name: string; readonly added: string }[] = [];
    for (const node of site.lister(nodes).list()) {
      const taint = runningTaint(node);
      if (taint) tainted.push({ name: node.metadata.name, added: taint.timeAdded ?? "" });
    }
    tainted.sort((a, b) => inTextOrder(a.added, b.added) || inTextOrder(a.name, b.name));
    const boards = tainted.map(({ name }) => name);
    this.#order = { at: site.now, boards };
    return boards;
  }
}

/**
 * When the board at this place in the order has its turn. With a secondary rate of 0, only the first board has a turn
 * before `slowEnd`.
 */
function turnAfter({ end, slowEnd }: Freeze, place: number, { evictionRate, secondaryRate }: Rates): Instant {
  const window = elapsed(end, slowEnd);
  const first = Math.max(0, place);
  const slowly = first === 0 ? 0 : (first / secondaryRate) * 1000;
  if (slowly < window) return shifted(end, slowly);
  const before = Math.ceil((window / 1000) * secondaryRate);
  const behind = Math.max(0, first - before);
  return shifted(slowEnd, behind === 0 || evictionRate === 0 ? 0 : (behind / evictionRate) * 1000);
}
