import { taintOf } from "../../api/taints.ts";
import type { Instant } from "../../base/clock.ts";
import { freezeOn, type Holds } from "../../holds/holds.ts";
import type { Link } from "../../judgement/link.ts";
import { isLimited, type ValveNow } from "../safety-valve.ts";
import { type Known, taintGrounds } from "./grounds.ts";
import { causeOf, type Judged } from "./judge.ts";
import type { BoardRecord, ZoneRecord } from "./memory.ts";
import type { TaintWrite } from "./pass.ts";
import { roomForTaints } from "./tainted-boards.ts";
import { deservedBy, swapped } from "./taints.ts";
import { over, takeTurns } from "./turns.ts";
import { zoneName } from "./zones/zones.ts";

/** The fields of a board needed for its turn. */
export type TurnCandidate = Pick<Judged, "name" | "zone" | "node" | "cached" | "ready" | "verdict" | "health">;

/** What decides, besides the boards themselves, whether they may have their turns. */
interface TurnContext {
  readonly link: Link;
  /** A quarantine holds acts. */
  readonly held: boolean;
  readonly holds: Holds;
  readonly valve: ValveNow;
  readonly now: Instant;
}

/**
 * Whether a board may have its turn, by its last examination, the state of the link, the operators' holds and the
 * safety valve; otherwise it keeps waiting. A board without a record may, because a turn without a Node writes nothing.
 */
export function mayHaveTurn(
  records: ReadonlyMap<string, BoardRecord>,
  { link, held, holds, valve, now }: TurnContext,
): (name: string) => boolean {
  const isShut = valve.shut !== undefined || roomForTaints(records, valve) <= 0;
  return (name) => {
    const record = records.get(name);
    if (record === undefined) return true;
    if (freezeOn(holds, { board: name, zone: zoneName(record.zone) }, now)) return false;
    if (isShut && isLimited(record)) return false;
    return record.mayTaint && (record.ready !== "Unknown" || (link.live && !held));
  };
}

/**
 * The taint writes that are due in all zones. A board that is gone or no longer needs a taint uses up its turn. `room`:
 * how many further boards the safety valve permits to be tainted; a board beyond it keeps waiting.
 */
export function planTurns(
  before: ReadonlyMap<string, ZoneRecord>,
  boards: { may(name: string): boolean; board(name: string): TurnCandidate | undefined; readonly room: number },
  known: Known,
): { readonly zones: ReadonlyMap<string, ZoneRecord>; readonly writes: ReadonlyMap<string, TaintWrite> } {
  const { now } = known;
  const zones = new Map<string, ZoneRecord>();
  const writes = new Map<string, TaintWrite>();
  let { room } = boards;
  const version = (name: string): string | undefined => boards.board(name)?.node.metadata.resourceVersion;
  for (const [name, record] of before) {
    let { zone, names } = takeTurns(record, { may: boards.may, version }, now);
    for (const board of names) {
      const candidate = boards.board(board);
      const write = taintOnTurn(candidate, { name, record }, known);
      if (write === undefined) zone = over(zone, board);
      else if (candidate === undefined || !isLimited(candidate)) writes.set(board, write);
      else if (room > 0) {
        writes.set(board, write);
        room--;
      }
    }
    zones.set(name, zone);
  }
  return { zones, writes };
}

function taintOnTurn(
  board: TurnCandidate | undefined,
  zone: { readonly name: string; readonly record: ZoneRecord },
  known: Known,
): TaintWrite | undefined {
  const deserved = deservedBy(board?.ready);
  if (board === undefined || deserved === undefined) return undefined;
  const { node, cached } = board;
  if (taintOf(node, deserved.wanted) && !taintOf(node, deserved.opposite)) return undefined;
  return {
    node,
    cached,
    taints: swapped(node, deserved, known.now),
    cause: causeOf(board),
    grounds: taintGrounds(board, zone.record, known),
    turn: zone.name,
  };
}
