import type { Node } from "../../api/core.ts";
import { nodes } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis, shifted } from "../../base/clock.ts";
import { inTextOrder } from "../../base/text-order.ts";
import { type Freeze, type Holds, slowAfter } from "../../holds/holds.ts";
import type { SiteView } from "../../loop/controller.ts";
import { freezeOnBoard } from "../board-verdicts.ts";
import type { NodeLifecycleSettings } from "../node-lifecycle/settings.ts";
import { runningTaint } from "../node-lifecycle/taints.ts";
import { zoneName, zoneOf } from "../node-lifecycle/zones.ts";

type Rates = Pick<NodeLifecycleSettings, "evictionRate" | "secondaryRate">;

/** How long the order of boards is reused: sorting them again for every pod would cost too much. */
const freshness: Millis = 1000;

/**
 * Spreads evictions after a freeze, when the windows of many pods have expired. The boards that carry our taint take
 * turns: at the secondary rate until the freeze's `slowEnd`, then at the usual rate.
 */
export class Thaw {
  readonly #rates: Rates;
  #lined: { readonly at: Instant; readonly boards: readonly string[] } | undefined;

  constructor({ evictionRate, secondaryRate }: Rates) {
    this.#rates = { evictionRate, secondaryRate };
  }

  /** When the pod may be evicted; undefined: now. */
  heldUntil(
    holds: Holds,
    { board, node }: { readonly board: string; readonly node: Node | undefined },
    site: SiteView,
  ): Instant | undefined {
    if (holds.freezes.size === 0) return undefined;
    const { now } = site;
    const freeze = freezeOnBoard(holds, board, node, now);
    if (freeze) return freeze.end;
    const slow = node && slowAfter(holds, zoneName(zoneOf(node)), now);
    return slow && turnAfter(slow, this.#line(site).indexOf(board), this.#rates);
  }

  /** The tainted boards by timeAdded, where it is set: texts from one server, compared and never read as time. */
  #line(site: SiteView): readonly string[] {
    if (this.#lined && elapsed(this.#lined.at, site.now) < freshness) return this.#lined.boards;
    const tainted: { readonly name: string; readonly added: string }[] = [];
    for (const node of site.lister(nodes).list()) {
      const taint = runningTaint(node);
      if (taint) tainted.push({ name: node.metadata.name, added: taint.timeAdded ?? "" });
    }
    tainted.sort((a, b) => inTextOrder(a.added, b.added) || inTextOrder(a.name, b.name));
    const boards = tainted.map(({ name }) => name);
    this.#lined = { at: site.now, boards };
    return boards;
  }
}

/**
 * The turn of the board at this place in the line. A secondary rate of 0 gives only the first board a turn before
 * `slowEnd`.
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
