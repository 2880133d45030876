import type { Node } from "../../api/core.ts";
import { covers } from "../../api/resource-version.ts";
import { nodes } from "../../api/resources.ts";
import { elapsed, type Instant, type Millis } from "../../base/clock.ts";
import type { SiteView } from "../../loop/controller.ts";

/** For how long the passes over the pods of a board share a read of its Node. */
const moment: Millis = 1000;

/** Reads of Nodes from the API. The pods of a board are often due at the same time. */
export class NodeReads {
  readonly #reads = new Map<string, { readonly at: Instant; readonly node: Promise<Node | undefined> }>();

  /**
   * The Node as the API had it within the last second, but not in an older version than the cached one; undefined if it
   * has none.
   */
  async newerThan({ metadata: { name, resourceVersion } }: Node, site: NodeReader): Promise<Node | undefined> {
    for (const [board, { at }] of this.#reads) if (elapsed(at, site.now) >= moment) this.#reads.delete(board);
    const recent = await this.#reads.get(name)?.node;
    if (recent && covers(recent.metadata.resourceVersion, resourceVersion)) return recent;
    const node = site.fetch(nodes, name);
    this.#reads.set(name, { at: site.now, node });
    return node;
  }
}

type NodeReader = Pick<SiteView, "now" | "fetch">;
