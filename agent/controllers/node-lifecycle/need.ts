import { deservesUnknown, type Examined } from "./health.ts";
import { zoneOf } from "./zones.ts";

/** Written in one pass at most. More would only be made to be postponed, and a dark site has thousands. */
const mostWrites = 300;

/**
 * The silent boards whose conditions are written next, the neediest first. Those with pods come before the others: their
 * pods are in service, and are what an eviction would move. The zones take turns, so that each has somebody for its next
 * eviction, and a lost board of a small zone does not wait for a large one that is dark. Within a zone whoever has been
 * silent longest comes first.
 */
export function neediest(examined: readonly Examined[], hasPods: (board: string) => boolean): readonly Examined[] {
  const ranked: { readonly board: Examined; readonly isEmpty: boolean; readonly rank: number }[] = [];
  for (const isEmpty of [false, true]) {
    const ranks = new Map<string, number>();
    const boards = examined
      .filter((board) => deservesUnknown(board) && hasPods(nameOf(board)) !== isEmpty)
      .sort((a, b) => a.health.probe.mono - b.health.probe.mono);
    for (const board of boards) {
      const zone = zoneOf(board.sighting.node);
      const rank = ranks.get(zone) ?? 0;
      ranks.set(zone, rank + 1);
      ranked.push({ board, isEmpty, rank });
    }
  }
  return ranked
    .sort((a, b) => Number(a.isEmpty) - Number(b.isEmpty) || a.rank - b.rank)
    .slice(0, mostWrites)
    .map(({ board }) => board);
}

const nameOf = ({ sighting }: Examined): string => sighting.node.metadata.name;
