import { taintOf } from "../../api/taints.ts";
import { restraintOnTaint, rulingOf } from "../../judgement/ruling.ts";
import { conditionsOf, freezeAt, frozenFor, type Known, type TurnFacts, taintGrounds } from "./grounds.ts";
import { causeOf, type Judged } from "./judge.ts";
import type { BoardRecord, ZoneRecord } from "./memory.ts";
import type { TaintWrite } from "./pass.ts";
import { deservedBy, swapped } from "./taints.ts";
import { over, takeTurns } from "./turns.ts";
import { levelAt } from "./zones/eviction-queue.ts";

/** The fields of a board needed for its turn. */
export type TurnCandidate = Pick<
  Judged,
  "name" | "zone" | "node" | "cached" | "ready" | "evidence" | "verdict" | "health"
>;

/**
 * Whether a board may have its turn, by its last examination, the state of the link and the operators' holds; otherwise
 * it keeps waiting. A board without a record may, because a turn without a Node writes nothing.
 */
export const mayHaveTurn = (records: ReadonlyMap<string, BoardRecord>, known: Known) => {
  const conditions = conditionsOf(known);
  return (name: string): boolean => {
    const record = records.get(name);
    if (record === undefined) return true;
    const freeze = freezeAt({ name, zone: record.zone }, known);
    const gate = freeze ? { ...conditions, frozenMs: frozenFor(freeze, known.now) } : conditions;
    const silence = record.ready === "Unknown" ? record.verdict : undefined;
    return record.mayTaint && restraintOnTaint(silence, gate) === undefined;
  };
};

/** The taint writes that are due in all zones. A board that is gone or no longer needs a taint uses up its turn. */
export function planTurns(
  before: ReadonlyMap<string, ZoneRecord>,
  boards: { may(name: string): boolean; board(name: string): TurnCandidate | undefined },
  known: Known,
): { readonly zones: ReadonlyMap<string, ZoneRecord>; readonly writes: ReadonlyMap<string, TaintWrite> } {
  const { now } = known;
  const zones = new Map<string, ZoneRecord>();
  const writes = new Map<string, TaintWrite>();
  const version = (name: string): string | undefined => boards.board(name)?.node.metadata.resourceVersion;
  for (const [name, record] of before) {
    let { zone, names } = takeTurns(record, { may: boards.may, version }, now);
    for (const board of names) {
      const turn = zone.paid.has(board) ? ({ free: "paid" } as const) : { level: levelAt(record.queue, now) };
      const write = taintOnTurn(boards.board(board), { name, record, turn }, known);
      if (write) writes.set(board, write);
      else zone = over(zone, board);
    }
    zones.set(name, zone);
  }
  return { zones, writes };
}

function taintOnTurn(
  board: TurnCandidate | undefined,
  { name, record, turn }: { readonly name: string; readonly record: ZoneRecord; readonly turn: TurnFacts },
  known: Known,
): TaintWrite | undefined {
  const deserved = deservedBy(board?.ready);
  if (board === undefined || deserved === undefined) return undefined;
  const { node, cached } = board;
  if (taintOf(node, deserved.wanted) && !taintOf(node, deserved.opposite)) return undefined;
  const grounds = taintGrounds(board, record, known, turn);
  if (rulingOf(grounds) !== "act") return undefined;
  return { node, cached, taints: swapped(node, deserved, known.now), cause: causeOf(board), grounds, turn: name };
}
