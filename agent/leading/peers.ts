import type { Node } from "../api/core.ts";
import { type Peer, standbyAnnotation } from "../board/sick-leader.ts";
import { readyOf } from "../controllers/node-lifecycle/health.ts";
import type { Informer } from "../informer/informer.ts";
import type { Lister } from "../informer/lister.ts";

/** A board as a possible leader of the site. */
export const peerOf = (node: Node): Peer => ({
  name: node.metadata.name,
  isReady: readyOf(node)?.status === "True",
  standby: node.metadata.annotations?.[standbyAnnotation],
});

/** The other boards of the site; undefined if the cache of Nodes has never been filled. */
export const peersOf = (
  { hasSynced, lister }: Pick<Informer<Node>, "hasSynced" | "lister">,
  own: string,
): Iterable<Peer> | undefined => (hasSynced ? peersIn(lister, own) : undefined);

export function* peersIn(lister: Pick<Lister<Node>, "list">, own: string): IterableIterator<Peer> {
  for (const node of lister.list()) if (node.metadata.name !== own) yield peerOf(node);
}

export function* namesIn(lister: Pick<Lister<Node>, "list">): IterableIterator<string> {
  for (const { metadata } of lister.list()) yield metadata.name;
}
