import { type Examined, needsUnknownCondition } from "./health.ts";
import { zoneOf } from "./zones/zones.ts";

/**
 * Maximum number of boards whose conditions are written per pass. If no board of a site is ready, thousands wait, but
 * the API client could not send more in time.
 */
const maxWrites = 300;

/**
 * The silent boards whose conditions are written next, most urgent first. Boards with pods go first, because these are
 * in service and would be evicted. The zones alternate, so that each has a board for its next eviction, and a small
 * zone does not wait behind a large, completely silent one. Within a zone the board with the longest silence goes
 * first.
 */
export function nextToMark(examined: readonly Examined[], hasPods: (board: string) => boolean): readonly Examined[] {
  const ranked: { readonly board: Examined; readonly isEmpty: boolean; readonly rank: number }[] = [];
  for (const isEmpty of [false, true]) {
    const ranks = new Map<string, number>();
    const boards = examined
      .filter((board) => needsUnknownCondition(board) && hasPods(nameOf(board)) !== isEmpty)
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
    .slice(0, maxWrites)
    .map(({ board }) => board);
}

const nameOf = ({ sighting }: Examined): string => sighting.node.metadata.name;
