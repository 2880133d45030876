import type { Millis } from "../base/clock.ts";
import { type DecisionRecord, restraintNow, type StoredMoment, subjectText } from "./decision-record.ts";
import type { RecordedAct, VerdictName } from "./grounds.ts";
import { doneText, restraintText } from "./sentences.ts";

/**
 * How what controllers would have done compares with what was really done: those in shadow mode with what other programs
 * did, and those of the compared policy with what siteward did. The first four are differences.
 */
export type Comparison =
  /** It was done, and would have been held back. */
  | "held here"
  /** It was done, and nothing was decided about it: it would not have been done, or later. */
  | "others only"
  /** It would have been done, but was not. */
  | "never done"
  /** It would have been tried in vain. */
  | "would fail"
  /** Both. */
  | "both"
  /** It would have been held back, and was not done. */
  | "neither";

/** An act on an object, as it would have been, and as it was. */
export interface ComparedAct {
  readonly comparison: Comparison;
  /** The policy that would have done it beside the acting one; absent for controllers in shadow mode. */
  readonly policy?: "kubernetes";
  readonly act: RecordedAct;
  /** node/NAME or pod/NAMESPACE/NAME. */
  readonly object: string;
  readonly board: string;
  /** What was decided last, and when; absent if nothing was. */
  readonly would?: { readonly state: DecisionRecord["state"]; readonly at: StoredMoment; readonly why?: string };
  /** When it was really done; absent if it was not. */
  readonly real?: StoredMoment;
  /** Set if it may have been done before it was seen, at a time that is not known. */
  readonly late?: true;
  /** How much later than here it was really done; negative if earlier. Absent if its time is not known. */
  readonly laterMs?: Millis;
  /** The verdict about the board when it was done without a decision here. */
  readonly verdict?: string;
  /** Why siteward held it back, if it did so. */
  readonly heldBecause?: string;
}

/** Differences first. */
const order: readonly Comparison[] = ["held here", "others only", "never done", "would fail", "both", "neither"];

/** How many of these are differences. */
export const differences: readonly Comparison[] = order.slice(0, 4);

/** The verdicts on a silent board that permit harm under policy `kubernetes`. */
const silentVerdicts: ReadonlySet<VerdictName> = new Set(["lost", "dead", "unproven"]);

/**
 * Maximum distance in time between our decision and the same act by another program for them to count as one story. It
 * does not apply to a pod deletion that was seen late.
 */
const sameStory: Millis = 3_600_000;

/**
 * Compares the records of controllers that only pretended to write with what was seen to be done. `when`: the time of a
 * moment, comparable between records.
 */
export function compareShadow(
  records: readonly DecisionRecord[],
  when: (moment: StoredMoment) => Millis,
): readonly ComparedAct[] {
  const shadowed = records.filter(({ shadow }) => shadow);
  const acting = records.filter(({ shadow }) => !shadow);
  const own = shadowed.filter((record) => !isSeen(record));
  const pairs = pairsOf(own, shadowed.filter(isSeen), when);
  const paired = new Set(pairs.values());
  const compared = own.map((record) => {
    const held = record.compared && heldBeside(record, acting, when);
    return { ...comparedWith(record, pairs.get(record), when), ...(held !== undefined && { heldBecause: held }) };
  });
  const unpaired = shadowed.filter((record) => isSeen(record) && !paired.has(record));
  const others = unpaired.map((record): ComparedAct => {
    const { because } = record;
    const verdict = because.kind === "seen" ? because.verdict : undefined;
    const known = { ...named(record), ...seenAt(record), ...(verdict !== undefined && { verdict }) };
    // If the acting policy is a moment faster, the compared one finds the work done, perhaps before it has judged the board
    // again. It permits whatever policy `evidence` permits.
    const isOurs = record.compared !== undefined && besideOf(record, acting, when)?.state === "done";
    const isDue = record.compared !== undefined && verdict !== undefined && silentVerdicts.has(verdict);
    return { comparison: isOurs || isDue ? "both" : "others only", ...known };
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

/** Why the acting policy held an act back that another one would have done; undefined if it did not hold it back. */
function heldBeside(...sought: Parameters<typeof besideOf>): string | undefined {
  const restraint = besideOf(...sought)?.restraints.at(-1);
  return restraint && restraintText(restraint);
}

/** What the acting policy decided about the same act at about that time; undefined if nothing. */
const besideOf = (
  { act, on, last }: DecisionRecord,
  acting: readonly DecisionRecord[],
  when: (moment: StoredMoment) => Millis,
): DecisionRecord | undefined =>
  acting.findLast(
    (one) => one.act === act && one.on.uid === on.uid && Math.abs(when(one.first) - when(last)) <= sameStory,
  );

const named = ({
  act,
  on,
  board,
  compared,
}: DecisionRecord): Pick<ComparedAct, "policy" | "act" | "object" | "board"> => ({
  ...(compared && { policy: compared }),
  act,
  object: subjectText(on),
  board,
});

/** The act in words: "pod/default/web-1 evicted from pi-3". */
export const comparedText = ({ object, act, board }: ComparedAct): string => `${object} ${doneText({ act, board })}`;
