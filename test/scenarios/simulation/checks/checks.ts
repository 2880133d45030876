import type { Millis } from "../../../../agent/base/clock.ts";
import type { History } from "../history.ts";
import { actsOf } from "./acts.ts";
import { checkBlindness } from "./blindness.ts";
import { checkBudget } from "./budget.ts";
import { checkConfirmed, isConfirmed } from "./confirmed.ts";
import { checkGain } from "./gain.ts";
import { Hearing } from "./hearing.ts";
import { checkHolds } from "./holds.ts";
import { checkInnocence } from "./innocence.ts";
import { checkOwnBoard } from "./own-board.ts";
import { checkSafetyValve } from "./safety-valve.ts";
import { checkTerms, termsOf } from "./terms.ts";
import { checkTolerations } from "./tolerations.ts";
import { checkUnproven } from "./unproven.ts";
import { checkWitnessed } from "./witnessed.ts";

/** All violations in a history. */
export function checkHistory(history: History, end: Millis): readonly string[] {
  const all = actsOf(history);
  const acts = all.filter((act) => !isConfirmed(history, act));
  const terms = termsOf(history);
  const hearings = new Map([...history.processes].map(([id, process]) => [id, new Hearing(process, end)]));
  return [
    ...history.complaints.map(({ at, text }) => `complaint at ${(at / 1000).toFixed(3)}s: ${text}`),
    ...checkTerms(history),
    ...checkBudget(history, acts, terms, hearings),
    ...checkTolerations(history, acts),
    ...checkBlindness(history, acts, terms, hearings),
    ...checkInnocence(history, acts),
    ...checkOwnBoard(history, acts),
    ...checkWitnessed(history, acts),
    ...checkUnproven(history, acts, hearings),
    ...checkGain(history, acts),
    ...checkHolds(history, acts),
    ...checkSafetyValve(history, acts),
    ...checkConfirmed(history, all),
  ];
}
