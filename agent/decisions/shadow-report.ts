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
  /** How much later it was really done than it would have been; negative if earlier. Absent if its time is not known. */
  readonly laterMs?: Millis;
  /**
   * The verdict about the board when it was done without a decision here; absent if the compared policy had nothing left to
   * decide.
   */
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
  const seen = shadowed.filter(isSeen);
  // A deletion is not always seen, but the record of an act that siteward did says as much.
  const ours = acting.filter(({ state }) => state === "done");
  const doneAs = pairsOf(
    ours,
    seen.filter(({ compared }) => compared),
    when,
  );
  const storyOf = new Map([...doneAs].map(([act, real]) => [real, act]));
  const reals = [...seen, ...ours.filter((act) => !doneAs.has(act))];
  const pairs = pairsOf(own, reals, when, (real) => storyOf.get(real) ?? real);
  const paired = new Set(pairs.values());
  const compared = withoutRepeats(own, pairs, when).map(([record, real]) => {
    const held = record.compared && heldBeside(record, acting, when);
    return { ...comparedWith(record, real, when), ...(held !== undefined && { heldBecause: held }) };
  });
  const others = seen
    .filter((record) => !paired.has(record))
    .map((record): ComparedAct => {
      const { because } = record;
      const verdict = because.kind === "seen" ? because.verdict : undefined;
      // If the acting policy is a moment faster, the compared one finds the work done, perhaps before it has judged the
      // board again. It permits whatever policy `evidence` permits.
      const isOurs = storyOf.has(record);
      const isDue = record.compared !== undefined && verdict !== undefined && silentVerdicts.has(verdict);
      // A verdict that permits no harm says nothing about an act that left the compared policy nothing to decide.
      const isTelling = verdict !== undefined && (isDue || !isOurs);
      const known = { ...named(record), ...seenAt(record), ...(isTelling && { verdict }) };
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

const placeOf = ({ act, on }: DecisionRecord): string => `${act} ${on.uid}`;

/** Time between two stories; 0 if they overlap. */
const apart = (a: DecisionRecord, b: DecisionRecord, when: (moment: StoredMoment) => Millis): Millis =>
  Math.max(0, when(b.first) - when(a.last), when(a.first) - when(b.last));

/**
 * The real act for each decision that has one: on the same object, the pairs that are nearest in time first, so that a
 * silence that ended before others acted does not take the act on the next one. A pod is deleted only once, however late
 * that was seen. `storyOf`: the record of the whole story of a real act, whose acting policy may have held it for long.
 */
function pairsOf(
  own: readonly DecisionRecord[],
  reals: readonly DecisionRecord[],
  when: (moment: StoredMoment) => Millis,
  storyOf: (real: DecisionRecord) => DecisionRecord = (real) => real,
): ReadonlyMap<DecisionRecord, DecisionRecord> {
  const bySubject = Map.groupBy(reals, placeOf);
  const candidates = own.flatMap((would) =>
    (bySubject.get(placeOf(would)) ?? []).flatMap((real) => {
      // What siteward did itself is the other side only of a policy that is compared with it.
      if (!real.shadow && !would.compared) return [];
      const isNear = apart(would, storyOf(real), when) <= sameStory || (isLate(real) && would.on.kind === "Pod");
      return isNear ? [{ would, real, distance: Math.abs(when(real.last) - when(would.last)) }] : [];
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

/**
 * The decisions with the real act of each. What was only pretended is forgotten at the end of a term, so the next term
 * may decide again to evict a pod that would have been gone. Such repeats are reported once, with the time of the first.
 */
function withoutRepeats(
  own: readonly DecisionRecord[],
  pairs: ReadonlyMap<DecisionRecord, DecisionRecord>,
  when: (moment: StoredMoment) => Millis,
): readonly (readonly [DecisionRecord, DecisionRecord | undefined])[] {
  const groups = Map.groupBy(own, (one) => (one.state === "done" && one.on.kind === "Pod" ? placeOf(one) : one));
  return [...groups.values()].flatMap((group) => {
    const all = group.toSorted((a, b) => when(a.last) - when(b.last));
    const first = all.filter(({ term }) => term === all[0]?.term);
    const spare = all.flatMap((one) => (first.includes(one) ? [] : (pairs.get(one) ?? [])));
    return first.map((one) => [one, pairs.get(one) ?? spare.shift()] as const);
  });
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

/**
 * Why the acting policy held an act back at the time when another one decided about it, or soon after; undefined if it
 * did not.
 */
function heldBeside(
  record: DecisionRecord,
  acting: readonly DecisionRecord[],
  when: (moment: StoredMoment) => Millis,
): string | undefined {
  const at = when(record.last);
  // A hold whose end is not known lasts for the rest of its term.
  const endOf = ({ state, term, last }: DecisionRecord): Millis =>
    state === "held" && term === record.term ? Number.POSITIVE_INFINITY : when(last);
  const distanceTo = (one: DecisionRecord): Millis => Math.max(0, when(one.first) - at, at - endOf(one));
  const beside = acting
    .filter((one) => placeOf(one) === placeOf(record) && distanceTo(one) <= sameStory)
    .toSorted((a, b) => distanceTo(a) - distanceTo(b))[0];
  if (beside === undefined || (beside.state === "done" && when(beside.last) <= at)) return undefined;
  const { restraints } = beside;
  const restraint = restraints.findLast(({ since }) => when(since) <= at) ?? restraints[0];
  return restraint && restraintText(restraint);
}

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
