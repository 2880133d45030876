import { decisionBound } from "../../../../agent/decisions/decision-book.ts";
import { type DecisionRecord, readDecision } from "../../../../agent/decisions/decision-record.ts";
import { DecisionLog } from "../../../../storage/decision-log.ts";
import type { SimBoard } from "../sim-board.ts";
import type { Site } from "../site.ts";
import { type Act, actsOf, actText } from "./acts.ts";

/** A board with this many records may have deleted older ones. */
const mayBeFull = 300;

const recordedAs: Readonly<Record<Act["is"], readonly string[]>> = {
  unknown: ["board-marked"],
  taint: ["board-tainted"],
  // By the taint, or by Pod GC once an operator has confirmed that the board is dead.
  evict: ["pod-evicted", "pod-collected"],
  // These follow from a marked board, and are only counted.
  unready: [],
};

/**
 * After all agents have stopped: each act that took effect is a record in state.db of the board that did it, provided
 * that its process received the answer and was not lost; and no record reports an act that did not take effect.
 */
export function checkRecords({ recorder: { history }, boards }: Site): readonly string[] {
  const acts = actsOf(history).filter(({ is }) => recordedAs[is].length > 0);
  return boards.flatMap((board) => {
    const { name } = board.plate;
    const own = acts.filter(({ process }) => history.processes.get(process)?.board === name);
    const records = recordsOf(board);
    if (records.length >= mayBeFull) return [];
    const done = records.filter(({ state }) => state === "done");
    const recorded = countOf(done.map(({ act, on }) => `${act} ${on.uid}`));
    const missing = own.filter((act) => {
      const isCertain = act.isDone && act.isAnswered && history.processes.get(act.process)?.isLost === false;
      // The deletion of a pod that no kubelet has started leaves no record.
      const isRecorded = act.is !== "evict" || act.isOnRunning;
      return isCertain && isRecorded && !recordedAs[act.is].some((one) => taken(recorded, `${one} ${act.uid}`));
    });
    // A pod that is gone counts as evicted. A taint may replace another one, which is not a new act.
    const met = countOf(own.filter(isMet).flatMap(({ is, uid }) => recordedAs[is].map((one) => `${one} ${uid}`)));
    const invented = done.filter(({ act, on }) => act !== "board-tainted" && !taken(met, `${act} ${on.uid}`));
    return [
      ...missing.map((act) => `records: ${actText(act)} has none on ${name}`),
      ...invented.map(({ act, on }) => `records: ${name} has ${act} of ${on.name}, which never took effect`),
    ];
  });
}

const isMet = ({ is, isDone, isGone }: Act): boolean => isDone || (is === "evict" && isGone);

/** The records in the state.db of a board. */
export function recordsOf({ storage }: SimBoard): readonly DecisionRecord[] {
  const texts = new DecisionLog(storage.state, decisionBound).newest(undefined, decisionBound.rows);
  return texts.flatMap((text) => readDecision(JSON.parse(text)) ?? []);
}

function countOf(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** Takes one of them; false if none is left. */
function taken(counts: Map<string, number>, key: string): boolean {
  const left = counts.get(key) ?? 0;
  if (left > 0) counts.set(key, left - 1);
  return left > 0;
}
