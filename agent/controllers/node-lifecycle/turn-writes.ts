import { taintOf } from "../../api/taints.ts";
import { rulingOf, whyNotToTaint } from "../../judgement/ruling.ts";
import { isLimitedOn, valveFact } from "../safety-valve.ts";
import { type AfterConditions, causeOf } from "./after-conditions.ts";
import {
  confirmedFact,
  freezeLeftMs,
  freezeOnJudged,
  harmConditionsOf,
  type TaintCircumstances,
  type TurnFacts,
  taintGrounds,
} from "./grounds.ts";
import type { BoardRecord, ZoneRecord } from "./memory.ts";
import type { TaintWrite } from "./pass.ts";
import { restraintOfValve } from "./tainted-boards.ts";
import { desiredTaintFor, swapTaints } from "./taints.ts";
import { takeTurns, withTurnEnded } from "./turns.ts";
import { levelAt } from "./zones/eviction-queue.ts";

/** The fields of a board needed for its turn. */
export type TurnCandidate = Pick<
  AfterConditions,
  "name" | "zone" | "node" | "cached" | "ready" | "evidence" | "verdict" | "health" | "confirmedBy"
>;

/**
 * Whether a board may have its turn, by its last examination, the state of the link, the operators' holds and the
 * safety valve; otherwise it keeps waiting. A board without a record may, because a turn without a Node writes nothing.
 */
export const mayHaveTurn = (records: ReadonlyMap<string, BoardRecord>, known: TaintCircumstances) => {
  const conditions = { ...harmConditionsOf(known), ...valveFact(restraintOfValve(records, known.valve)) };
  return (name: string): boolean => {
    const record = records.get(name);
    if (record === undefined) return true;
    const freeze = freezeOnJudged({ name, zone: record.zone }, known);
    const gate = {
      ...conditions,
      ...confirmedFact(record),
      ...(freeze && { frozenMs: freezeLeftMs(freeze, known.now) }),
    };
    const silence = record.ready === "Unknown" ? record.verdict : undefined;
    return record.mayTaint && whyNotToTaint(silence, gate) === undefined;
  };
};

/**
 * The taint writes that are due in all zones. A board that was deleted or no longer needs a taint uses up its turn.
 * `room`: how many more boards the safety valve permits to be tainted; a board beyond it keeps waiting.
 */
export function planTurns(
  before: ReadonlyMap<string, ZoneRecord>,
  boards: { may(name: string): boolean; board(name: string): TurnCandidate | undefined; readonly room: number },
  known: TaintCircumstances,
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
      const turn: TurnFacts = {
        ...(zone.paid.has(board) ? { free: "paid" } : { level: levelAt(record.queue, now) }),
        ...(room <= 0 && { valve: "boards" }),
      };
      const write = taintOnTurn(candidate, { name, record, turn }, known);
      if (write === undefined) zone = withTurnEnded(zone, board);
      else if (write !== "valve") {
        writes.set(board, write);
        if (candidate && isLimitedOn(candidate)) room--;
      }
    }
    zones.set(name, zone);
  }
  return { zones, writes };
}

/** Undefined if the turn has ended without a write. "valve": the safety valve is shut, and the board keeps waiting. */
function taintOnTurn(
  board: TurnCandidate | undefined,
  { name, record, turn }: { readonly name: string; readonly record: ZoneRecord; readonly turn: TurnFacts },
  known: TaintCircumstances,
): TaintWrite | "valve" | undefined {
  const deserved = desiredTaintFor(board?.ready);
  if (board === undefined || deserved === undefined) return undefined;
  const { node, cached } = board;
  if (taintOf(node, deserved.wanted) && !taintOf(node, deserved.opposite)) return undefined;
  const grounds = taintGrounds(board, record, known, turn);
  const ruling = rulingOf(grounds);
  if (ruling === "valve") return ruling;
  if (ruling !== "act") return undefined;
  return { node, cached, taints: swapTaints(node, deserved, known.now), cause: causeOf(board), grounds, turn: name };
}
