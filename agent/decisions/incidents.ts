import type { Millis } from "../base/clock.ts";
import type { DecisionRecord, StoredMoment } from "./decision-record.ts";
import { linesOf, type StoryLine } from "./sentences.ts";

/** The events of a board and its pods, from when the board was lost until it was lost again. */
export interface Incident {
  readonly lines: readonly StoryLine[];
  /** The board whose Node was Ready again before this incident, although it was lost in the previous one. */
  readonly returned: Returned | undefined;
}

interface Returned {
  readonly board: string;
  /**
   * Whether the leader had received a heartbeat from the board. Otherwise it may have returned under another leader, or
   * not at all: a restore of the API server resets its Node.
   */
  readonly isHeard: boolean;
}

interface Event {
  readonly line: StoryLine;
  readonly record: DecisionRecord;
  /** Set for the last event of a record: what the others led to. */
  readonly isEnd: boolean;
}

/**
 * Divides the events of these records into incidents, in the order of `when`. No record says that a board returned. But
 * a board that is marked again was Ready in between, and a board whose taint is no longer due returned before that.
 */
export function incidentsOf(
  records: readonly DecisionRecord[],
  when: (moment: StoredMoment) => Millis,
): readonly Incident[] {
  const events = records
    .flatMap((record): readonly Event[] => {
      const lines = linesOf(record);
      return lines.map((line, at) => ({ line, record, isEnd: at === lines.length - 1 && record.state !== "held" }));
    })
    // An event whose time cannot be read stays where it is.
    .sort((a, b) => when(a.line.at) - when(b.line.at) || 0);
  const incidents: { lines: StoryLine[]; returned: Returned | undefined }[] = [];
  let before: Event[] = [];
  for (const event of events) {
    if (incidents.length === 0 || beginsAnew(event, before)) {
      incidents.push({ lines: [], returned: incidents.length === 0 ? undefined : returnedBefore(event) });
      before = [];
    }
    incidents.at(-1)?.lines.push(event.line);
    before.push(event);
  }
  return incidents;
}

function beginsAnew({ record, isEnd }: Event, before: readonly Event[]): boolean {
  const { act, on, state, gate, because } = record;
  // What another program did in shadow mode belongs to what siteward would have done.
  if (on.kind !== "Node" || because.kind === "seen") return false;
  const ended = before.filter((one) => one.isEnd && one.record.on.name === on.name);
  if (ended.some((one) => one.record.state === "lapsed")) return true;
  if (!isEnd || state !== "done") return false;
  if (act === "board-marked") return ended.some((one) => one.record.state === "done");
  const isSwap = gate?.free === "swap";
  return (
    act === "board-tainted" && !isSwap && ended.some((one) => one.record.act === act && one.record.state === "done")
  );
}

function returnedBefore({ record: { act, gate, board, because } }: Event): Returned | undefined {
  if (act !== "board-marked" || gate?.ready !== "True") return undefined;
  return { board, isHeard: because.kind !== "silence" || !because.unheard };
}
