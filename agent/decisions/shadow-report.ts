import type { Millis } from "../base/clock.ts";
import { type DecisionRecord, restraintNow, type StoredMoment, subjectText } from "./decision-record.ts";
import type { RecordedAct } from "./grounds.ts";
import { doneText, restraintText } from "./sentences.ts";

/**
 * How what controllers in shadow mode would have done compares with what other programs did. The first four are
 * differences.
 */
export type Comparison =
  /** Others did it, and siteward would have held it back. */
  | "held here"
  /** Others did it, and siteward decided nothing about it: it would not have done it, or came later. */
  | "others only"
  /** Siteward would have done it, but no other program did. */
  | "never done"
  /** Siteward would have tried it in vain. */
  | "would fail"
  /** Both. */
  | "both"
  /** Siteward would have held it back, and no other program did it. */
  | "neither";

/** An act on an object, as it would have been, and as it was. */
export interface ComparedAct {
  readonly comparison: Comparison;
  readonly act: RecordedAct;
  /** node/NAME or pod/NAMESPACE/NAME. */
  readonly object: string;
  readonly board: string;
  /** What was decided last, and when; absent if nothing was. */
  readonly would?: { readonly state: DecisionRecord["state"]; readonly at: StoredMoment; readonly why?: string };
  /** When another program was seen to have done it; absent if none was. */
  readonly real?: StoredMoment;
  /** Set if it may have been done before it was seen, at a time that is not known. */
  readonly late?: true;
  /** How much later than here it was really done; negative if earlier. Absent if its time is not known. */
  readonly laterMs?: Millis;
  /** Our verdict about the board when others acted without a decision here. */
  readonly verdict?: string;
}

/** Differences first. */
const order: readonly Comparison[] = ["held here", "others only", "never done", "would fail", "both", "neither"];

/** How many of these are differences. */
export const differences: readonly Comparison[] = order.slice(0, 4);

/** An act that others do later than this, or earlier, is another story of the same object. */
const sameStory: Millis = 3_600_000;

/**
 * Compares the records of controllers in shadow mode with what was seen of other programs. `when`: the time of a
 * moment, comparable between records.
 */
export function compareShadow(
  records: readonly DecisionRecord[],
  when: (moment: StoredMoment) => Millis,
): readonly ComparedAct[] {
  const shadowed = records.filter(({ shadow }) => shadow);
  const own = shadowed.filter((record) => !isSeen(record));
  const pairs = pairsOf(own, shadowed.filter(isSeen), when);
  const paired = new Set(pairs.values());
  const compared = own.map((record) => comparedWith(record, pairs.get(record), when));
  const unpaired = shadowed.filter((record) => isSeen(record) && !paired.has(record));
  const others = unpaired.map((record): ComparedAct => {
    const { because } = record;
    const verdict = because.kind === "seen" ? because.verdict : undefined;
    const known = { ...named(record), ...seenAt(record) };
    return { comparison: "others only", ...known, ...(verdict !== undefined && { verdict }) };
  });
  const timeOf = ({ would, real }: ComparedAct): Millis => {
    const moment = would?.at ?? real;
    return moment ? when(moment) : 0;
  };
  return [...compared, ...others].toSorted(
    (a, b) => order.indexOf(a.comparison) - order.indexOf(b.comparison) || timeOf(a) - timeOf(b),
  );
}

/** How many records of the same terms are missing, because there were too many at once. */
export function unrecordedIn(records: readonly DecisionRecord[]): number {
  const byTerm = Map.groupBy(
    records.filter(({ shadow }) => shadow),
    ({ leader, term }) => `${leader} ${term}`,
  );
  return [...byTerm.values()].reduce((sum, all) => sum + Math.max(...all.map(({ unrecorded = 0 }) => unrecorded)), 0);
}

const isSeen = ({ because }: DecisionRecord): boolean => because.kind === "seen";

const isLate = ({ because }: DecisionRecord): boolean => because.kind === "seen" && because.late === true;

const seenAt = (record: DecisionRecord): Pick<ComparedAct, "real" | "late"> => ({
  real: record.last,
  ...(isLate(record) && { late: true }),
});

/**
 * The real act for each decision that has one: on the same object, the pairs that are nearest in time first, so that a
 * silence that ended before others acted does not take the act on the next one. A pod is deleted only once, however late
 * that was seen.
 */
function pairsOf(
  own: readonly DecisionRecord[],
  seen: readonly DecisionRecord[],
  when: (moment: StoredMoment) => Millis,
): ReadonlyMap<DecisionRecord, DecisionRecord> {
  const placeOf = ({ act, on }: DecisionRecord): string => `${act} ${on.uid}`;
  const bySubject = Map.groupBy(seen, placeOf);
  const candidates = own.flatMap((would) =>
    (bySubject.get(placeOf(would)) ?? []).flatMap((real) => {
      const distance = Math.abs(when(real.last) - when(would.last));
      const isNear = distance <= sameStory || (isLate(real) && would.on.kind === "Pod");
      return isNear ? [{ would, real, distance }] : [];
    }),
  );
  const pairs = new Map<DecisionRecord, DecisionRecord>();
  const taken = new Set<DecisionRecord>();
  for (const { would, real } of candidates.toSorted((a, b) => a.distance - b.distance)) {
    if (pairs.has(would) || taken.has(real)) continue;
    pairs.set(would, real);
    taken.add(real);
  }
  return pairs;
}

function comparedWith(
  record: DecisionRecord,
  real: DecisionRecord | undefined,
  when: (moment: StoredMoment) => Millis,
): ComparedAct {
  const { state, last, restraints, error } = record;
  const restraint = restraintNow(record) ?? (state === "lapsed" ? restraints.at(-1) : undefined);
  const why = state === "failed" ? error : restraint && restraintText(restraint);
  const laterMs = real && !isLate(real) ? when(real.last) - when(last) : undefined;
  return {
    comparison: comparisonOf(state, real !== undefined),
    ...named(record),
    would: { state, at: last, ...(why !== undefined && { why }) },
    ...(real && seenAt(real)),
    ...(laterMs !== undefined && Number.isFinite(laterMs) && { laterMs: Math.round(laterMs) }),
  };
}

function comparisonOf(state: DecisionRecord["state"], isReal: boolean): Comparison {
  switch (state) {
    case "done":
      return isReal ? "both" : "never done";
    case "failed":
      return isReal ? "both" : "would fail";
    default:
      return isReal ? "held here" : "neither";
  }
}

const named = ({ act, on, board }: DecisionRecord): Pick<ComparedAct, "act" | "object" | "board"> => ({
  act,
  object: subjectText(on),
  board,
});

/** The act in words: "pod/default/web-1 evicted from pi-3". */
export const comparedText = ({ object, act, board }: ComparedAct): string => `${object} ${doneText({ act, board })}`;
