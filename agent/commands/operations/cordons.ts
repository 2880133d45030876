import { nodes } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import { Turns } from "../../base/concurrency/turns.ts";
import { refTo } from "../../execution/actions.ts";
import type { Author, Effect } from "../desk/controls.ts";
import { changeNode, nodeEvent } from "./board-acts.ts";
import { always, type OperationsDeps, type OrderBounds } from "./deps.ts";
import { notLeading } from "./effects.ts";
import { boardNamed, isEffect } from "./places.ts";

/**
 * Maximum number of boards for which a write of unknown effect is remembered. More are unlikely, because every such
 * write takes an order by an operator.
 */
const maxRemembered = 64;
/**
 * How long a write without a response may still be applied (docs/late-writes.md). Any change of the Node makes the
 * write void; a running kubelet changes it within five minutes, but the Node of a silent board may never change.
 */
const maxApplyDelay: Millis = 20 * 60_000;

/** A write of unknown effect. */
interface UnansweredWrite {
  /**
   * The version of the Node that the write requires. Once the Node has another version, the write can have no effect.
   */
  readonly resourceVersion: string | undefined;
  readonly at: Instant;
}

/**
 * Cordons and uncordons boards. Orders about one board are executed one after the other, so that the one accepted last
 * counts. Otherwise, an uncordon could find nothing to do while an earlier cordon is still on its way.
 */
export class Cordons {
  readonly #deps: OperationsDeps;
  readonly #turns = new Turns();
  /** By board. */
  readonly #unanswered = new Map<string, UnansweredWrite>();

  constructor(deps: OperationsDeps) {
    this.#deps = deps;
  }

  /** Without `board`, the order is about this board's own Node, which it may write without leading. */
  async order(board: string | undefined, cordoned: boolean, author: Author, bounds: OrderBounds): Promise<Effect> {
    const { caches, config, current } = this.#deps;
    const own = config.board.node;
    const name = board ?? own;
    const cached = board === undefined ? undefined : boardNamed(board, caches);
    if (cached && isEffect(cached)) return cached;
    // The term in which the order was accepted. In a later term, another leader may have carried out contrary orders in
    // between.
    const term = name === own ? always : current.term;
    if (term === undefined) return notLeading;
    return this.#turns.inTurn(name, () =>
      changeNode(name, { ...bounds, deps: this.#deps, term }, async (node) => {
        const { resourceVersion } = node.metadata;
        if (this.#unanswered.get(name)?.resourceVersion !== resourceVersion) this.#unanswered.delete(name);
        const isCordoned = node.spec?.unschedulable === true;
        const result = { board: name, cordoned, changed: isCordoned !== cordoned };
        if (isCordoned === cordoned) return this.mayFollow(name) ? unsettled(name, cordoned) : { result };
        const what = cordoned ? "cordoned" : "uncordoned";
        return {
          act: {
            do: "patch",
            target: refTo(nodes, node),
            type: "merge",
            patch: { spec: { unschedulable: cordoned || null } },
          },
          result,
          emitEvent: () =>
            nodeEvent(this.#deps, node, cordoned ? "BoardCordoned" : "BoardUncordoned", `Node ${name} ${what}`, author),
          mayFollow: () => this.#remember(name, resourceVersion),
        };
      }),
    );
  }

  /** Whether a write to this Node was not answered and, as far as is known, may still take effect. */
  mayFollow(board: string): boolean {
    const write = this.#unanswered.get(board);
    return write !== undefined && elapsed(write.at, this.#deps.ambient.clock.now()) < maxApplyDelay;
  }

  #remember(board: string, resourceVersion: string | undefined): void {
    const [oldest] = this.#unanswered.keys();
    if (this.#unanswered.size >= maxRemembered && oldest !== undefined) this.#unanswered.delete(oldest);
    this.#unanswered.set(board, { resourceVersion, at: this.#deps.ambient.clock.now() });
  }
}

/** The board is as ordered, but perhaps not for long. */
const unsettled = (board: string, cordoned: boolean): Effect => ({
  outcome: "failed",
  code: 503,
  error: "unsettled",
  message: `${board} is ${cordoned ? "cordoned" : "not cordoned"}, but an earlier order to ${cordoned ? "uncordon" : "cordon"} it got no response and may still take effect: repeat this command in a few minutes, or in 20 minutes if the board is silent`,
  result: { board, cordoned },
});
