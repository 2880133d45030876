import type { Millis } from "../base/clock.ts";
import { asRecord } from "../base/json.ts";
import type { Because, GateFacts, Grounds, RecordedAct, Restraint } from "./grounds.ts";

/** The object of an act. */
export interface Subject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * A moment as stored: the board's clock may have been wrong at the time, and `mono` is comparable only within its boot.
 */
export interface StoredMoment {
  /** The time by the board's clock, in RFC 3339. */
  readonly at: string;
  readonly boot: string;
  readonly mono: Millis;
}

/** A recorded act that is due but not done. */
export interface DueAct {
  readonly on: Subject;
  readonly grounds: Grounds;
  /** Why it is held back; undefined if it only waits for its turn, which begins no story. */
  readonly restraint: Restraint | undefined;
}

/** The acts of one kind on one board that are held back now for the same reason. */
export interface HeldGroup {
  readonly board: string;
  readonly act: RecordedAct;
  /** The reason, as it was when it first applied to one of the acts. */
  readonly restraint: Restraint;
  readonly since: StoredMoment;
  readonly count: number;
  /** The first few objects: node/NAME or pod/NAMESPACE/NAME. */
  readonly some: readonly string[];
}

/** The state of a story. */
export type StoryState =
  /** The act is due and held back; if the term has ended, it was held back at that time. */
  | "held"
  /** The act was held back, and was no longer due when the hold ended. */
  | "lapsed"
  /** The act was done. */
  | "done"
  /** The API server refused the act, or did not respond; the act is retried while it is due. */
  | "failed";

/**
 * The story of one act on one object in one term, from the first decision to its end: a single record, regardless of
 * how often the act was tried. Each leader keeps its own records.
 */
export interface DecisionRecord {
  readonly v: 1;
  /** Set if the controller only pretended to write: what the record says would have been done, and nothing was. */
  readonly shadow?: true;
  /**
   * Set, besides `shadow`, if the controller decided by this policy beside the policy that acts; absent if it ran in
   * shadow mode.
   */
  readonly compared?: "kubernetes";
  readonly act: RecordedAct;
  readonly on: Subject;
  /** The Node of the board that the act is about. */
  readonly board: string;
  /** The controller that decided. */
  readonly by: string;
  /** The board that led, and its term. */
  readonly leader: string;
  readonly term: number;
  /** The facts of the latest decision that changed the record: why the act was done, held back or no longer due. */
  readonly because: Because;
  /** The other facts on which that decision rested; absent in records of earlier versions. */
  readonly gate?: GateFacts;
  readonly state: StoryState;
  /** When the act was first decided. */
  readonly first: StoredMoment;
  /** When the story's state last changed. */
  readonly last: StoredMoment;
  /** The reasons why the act was held back, each listed once, with the first time it applied. */
  readonly restraints: readonly (Restraint & { readonly since: StoredMoment })[];
  /** Number of times the act failed. */
  readonly failures: number;
  /** The last failure, as a sentence. */
  readonly error?: string;
  /**
   * Number of records of the same term that were missing when this one was stored, because there were too many at once;
   * absent if none were.
   */
  readonly unrecorded?: number;
}

/** The object as on the command line: node/NAME or pod/NAMESPACE/NAME. */
export const subjectText = ({ kind, namespace, name }: Subject): string =>
  [kind.toLowerCase(), ...(namespace === undefined ? [] : [namespace]), name].join("/");

/** Why the act is held back now; undefined if it is not. */
export const restraintNow = ({ state, restraints }: DecisionRecord): Restraint | undefined =>
  state === "held" ? restraints.at(-1) : undefined;

/**
 * Whether two holds have the same reason. The pods of one board may stay for different reasons, and the verdict on a board
 * may change while it holds an act.
 */
export function isSameReason(a: Restraint, b: Restraint): boolean {
  if (a.why === "no-gain" && b.why === "no-gain") return a.reason === b.reason;
  if (a.why === "verdict" && b.why === "verdict") return a.verdict === b.verdict;
  return a.why === b.why;
}

/** Parses an entry of the list of held acts that an agent returned; undefined if it is not one. */
export function readHeldGroup(value: unknown): HeldGroup | undefined {
  const { board, act, restraint, since, count, some } = asRecord(value);
  const isRead =
    [board, act, asRecord(restraint).why].every((text) => typeof text === "string") &&
    isMoment(since) &&
    Number.isFinite(count) &&
    Array.isArray(some) &&
    some.every((name) => typeof name === "string");
  return isRead ? (value as HeldGroup) : undefined;
}

/**
 * Parses a record that another process or version may have written; undefined if it is not one. `because` and
 * `restraints` may contain kinds that this version does not know.
 */
export function readDecision(value: unknown): DecisionRecord | undefined {
  const { v, act, on, board, by, leader, term, because, state, first, last, restraints, failures } = asRecord(value);
  const { kind, name } = asRecord(on);
  const texts = [act, board, by, leader, state, kind, name, asRecord(because).kind];
  const isRead =
    v === 1 &&
    texts.every((text) => typeof text === "string") &&
    [term, failures].every(Number.isFinite) &&
    [first, last].every(isMoment) &&
    Array.isArray(restraints) &&
    restraints.every((one) => isMoment(asRecord(one).since));
  return isRead ? (value as DecisionRecord) : undefined;
}

const isMoment = (value: unknown): boolean => {
  const { at, boot, mono } = asRecord(value);
  return typeof at === "string" && typeof boot === "string" && Number.isFinite(mono);
};
