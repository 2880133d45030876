import type { Node } from "../api/core.ts";
import { nodes } from "../api/resources.ts";
import { type Peer, standbyAnnotation } from "../board/sick-leader.ts";
import { readyOf } from "../controllers/node-lifecycle/health.ts";
import type { Caches } from "../loop/site-view.ts";

/** A board as a possible leader of the site. */
export const peerOf = (node: Node): Peer => ({
  name: node.metadata.name,
  isReady: readyOf(node)?.status === "True",
  standby: node.metadata.annotations?.[standbyAnnotation],
});

/** The other boards of the site. */
export function* peersOf(caches: Caches, own: string): IterableIterator<Peer> {
  for (const node of caches.informer(nodes).lister.list()) if (node.metadata.name !== own) yield peerOf(node);
}
