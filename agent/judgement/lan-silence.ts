import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { AskedFacts, CountedQuestions } from "../decisions/grounds.ts";
import { type LanAnswer, sinceAnswer } from "./lan-answer.ts";

/** Unanswered questions on the LAN that count as evidence. */
export interface Counted extends CountedQuestions {
  /** When the last of them was sent; undefined if there are none. */
  readonly at: Instant | undefined;
}

export const noneCounted: Counted = { questions: 0, overMs: 0, at: undefined };

/**
 * The longest part of a pause between two questions that counts. Time in which the leader was suspended, and so sent no
 * questions, is no silence.
 */
const maxPause: Millis = 10_000;

/**
 * Counts one more question. Stops at the highest limit of the rules, so that the numbers do not grow while a board is
 * dead.
 */
export function counting(before: Counted, at: Instant): Counted {
  if (isComplete(before)) return before;
  const pause = before.at === undefined ? 0 : Math.min(maxPause, elapsed(before.at, at));
  return { questions: before.questions + 1, overMs: before.overMs + Math.floor(pause), at };
}

/** The results of the questions to a board that does not answer. */
export interface Unanswered {
  /** Whether the board answered this leader within `calibratedFor`. */
  readonly isCalibrated: boolean;
  /** The questions that the board left unanswered while a control answered. */
  readonly counted: Counted;
  /** The latest rounds of questions, if neither any of several calibrated boards nor the gateway answered in them. */
  readonly alone: Counted;
}

/** The result of asking a board on the LAN. */
export interface LanReport {
  /** Its last LAN answer; absent if there is none. */
  readonly word?: LanAnswer;
  /** The results of later questions; absent if the LAN cannot say anything about the board. */
  readonly unanswered?: Unanswered;
}

/**
 * How long after its last answer a board counts as calibrated. It is asked every hour, so it stays calibrated while it
 * answers.
 */
export const calibratedFor: Millis = 24 * 3_600_000;

/** The evidence of the LAN in the facts of a decision. */
export const askedFacts = ({ isCalibrated, counted, alone }: Unanswered): AskedFacts => ({
  questions: counted.questions,
  overMs: counted.overMs,
  ...(isCalibrated && { calibrated: true }),
  ...(alone.questions > 0 && { alone: { questions: alone.questions, overMs: alone.overMs } }),
});

/** The number of unanswered questions, and the time over which they were asked, that cannot be mere chance. */
const minQuestions = 5;
const minTime: Millis = 30_000;

/**
 * How many questions a board must leave unanswered (one every 5 s, so they take two minutes) if it has answered since
 * its heartbeats stopped. Its answer showed that it was cut off, not dead, and `minQuestions` would be too few: on a
 * LAN that loses many datagrams, even seven unanswered questions in a row are common.
 */
const minAfterAnswer = 24;

export const isEnough = ({ questions, overMs }: CountedQuestions, needed = minQuestions): boolean =>
  questions >= needed && overMs >= minTime;

/** Whether further questions would show no more. */
export const isComplete = (counted: CountedQuestions): boolean => isEnough(counted, minAfterAnswer);

/**
 * The meaning of a board's silence on the LAN.
 *
 * gone: it answered before, does not answer now, and others do. isolated: no board answers this leader. unheard:
 * this leader has never heard it, so its silence says nothing. open: nothing can be concluded, or not yet.
 */
export type LanSilence = "gone" | "isolated" | "unheard" | "open";

/** `foundLost`: an earlier leader had this evidence, and no leader has heard from the board since. */
export function lanSilenceOf({ calibrated, foundLost, alone, answered, ...counted }: AskedFacts): LanSilence {
  if (alone && isEnough(alone)) return "isolated";
  if (!calibrated && !foundLost) return "unheard";
  return isEnough(counted, answered ? minAfterAnswer : minQuestions) ? "gone" : "open";
}

/** The silence of a board, as an earlier leader knew it. */
export interface EarlierSilence {
  /** A digest of the board's last sign of life. After another sign, this silence is over. */
  readonly sign: string;
  /** How long it had lasted, counting only the time in which the board's heartbeats could reach that leader. */
  readonly silentMs: Millis;
  /** Whether that leader found the board lost by its questions on the LAN. */
  readonly isLost: boolean;
  /** Whether the board has answered on the LAN since it fell silent. */
  readonly hasAnswered?: true;
}

/**
 * Applies a board's answer on the LAN to the silence that an earlier leader passed on. Any answer shows that the board
 * is not lost. Only an answer that it may run pods ends the time of its silence; otherwise that goes on.
 */
export function afterAnswer(earlier: EarlierSilence, word: LanAnswer, now: Instant): EarlierSilence {
  const isRunning = sinceAnswer(word, now) !== undefined;
  const isKnown = earlier.hasAnswered && !earlier.isLost && (!isRunning || earlier.silentMs === 0);
  return isKnown ? earlier : { ...earlier, ...(isRunning && { silentMs: 0 }), isLost: false, hasAnswered: true };
}
