import type { Millis } from "../../../../agent/base/clock.ts";
import type { History, Span } from "../history.ts";
import { settled } from "../schedule.ts";
import { judging } from "../site-config.ts";
import { type Act, actText } from "./acts.ts";
import { isConfirmed } from "./confirmed.ts";
import type { Hearing } from "./hearing.ts";
import { type TermBegun, termsOf } from "./terms.ts";

/** A term that began by then has heard every board before the first fault. */
const begunWithin: Millis = settled / 2;
/** How long a board is asked before it is judged, at least, and how long a leader may take to count the answers. */
const askedFor: Millis = 35_000;

/**
 * Under policy `evidence`, where a leader hears some boards on the LAN, it does not harm a board that runs within the
 * hold, unless the LAN shows that the board is gone. It cannot show that if the board could never be heard, or if the
 * leader itself was cut off. Who was cut off is the truth of the simulated world.
 */
export function checkUnproven(
  history: History,
  acts: readonly Act[],
  hearings: ReadonlyMap<number, Hearing>,
): readonly string[] {
  const { setting, signs } = history;
  if (setting.policy !== "evidence" || setting.lan === "none") return [];
  const terms = termsOf(history);
  return acts.flatMap((act) => {
    const { is, board, triedAt, sentAt } = act;
    const term = terms.findLast(({ process, at }) => process === act.process && at <= sentAt);
    if (is === "unknown" || term === undefined) return [];
    const heardAt = (signs.get(board) ?? []).findLast((at) => at <= triedAt);
    if (heardAt === undefined) return [];
    // The leader counts by its own clock, which gains or loses a little.
    const pace = setting.boards.find(({ name }) => name === term.board)?.pace ?? 1;
    if ((triedAt - heardAt) * pace >= judging.gracePeriod + judging.unprovenHold) return [];
    if (!hearsOthers(history, term)) return [];
    if (isLostTogether(history, act, hearings.get(act.process)))
      return [`unproven: ${actText(act)}: its whole zone fell silent together`];
    if (!runs(history, board, triedAt)) return [];
    if (isWhollyWithin(spans(history.lanCuts, board), { from: 0, until: triedAt }))
      return [`unproven: ${actText(act)}: it could never be heard on the LAN`];
    const asked = { from: Math.min(heardAt + judging.gracePeriod / 2, triedAt - askedFor), until: triedAt };
    if (isWhollyWithin(spans(history.lanCuts, term.board), asked))
      return [`unproven: ${actText(act)}: the leader was cut off the LAN itself`];
    return [];
  });
}

/** How late a leader may hear of a sign of life. */
const heardLate: Millis = 10_000;
/** How long a board must have been unable to speak to count as silent on the LAN. */
const speechless: Millis = 60_000;

/**
 * Whether a board is tainted although all boards of its zone, two at least, fell silent within a grace period and cannot
 * speak on the LAN, and the hold of the zone cannot be over.
 */
function isLostTogether(
  history: History,
  { is, board: lost, zone, triedAt, sentAt }: Act,
  hearing: Hearing | undefined,
): boolean {
  const { setting, signs, mute } = history;
  const members = setting.boards.filter((board) => board.zone === zone).map(({ name }) => name);
  if (is !== "taint" || members.length < 2) return false;
  const canSpeak = (board: string): boolean =>
    !spans(mute, board).some(({ from, until = triedAt }) => from <= triedAt - speechless && until >= triedAt);
  const last = members.map((board) => (signs.get(board) ?? []).findLast((at) => at <= triedAt) ?? 0);
  const [first, second] = [Math.min(...last), Math.max(...last)];
  const isTogether = second - first <= judging.gracePeriod && triedAt - second > judging.gracePeriod;
  // A leader whose watches are late does not know when the others fell silent.
  const isKnown = (board: string): boolean => {
    const at = (signs.get(board) ?? []).findLast((time) => time <= triedAt) ?? 0;
    return board === lost || hearing?.heardOf(board, at, at + heardLate) === true;
  };
  if (!members.every(isKnown)) return false;
  // That an operator confirmed one of them dead shows that it is not the zone's switch.
  if (members.some((board) => isConfirmed(history, { board, sentAt }))) return false;
  return isTogether && triedAt - first < judging.gracePeriod + judging.zoneHold && !members.some(canSpeak);
}

const runs = ({ troubles }: History, board: string, time: Millis): boolean =>
  !(troubles.get(board) ?? []).some(
    ({ what, from, until = time }) => (what === "no power" || what === "no kubelet") && from <= time && until >= time,
  );

/** Whether the leader certainly heard some board: its term is as old as the site, and no fault had begun. */
function hearsOthers({ setting, lanCuts }: History, { board: leader, at }: TermBegun): boolean {
  const isFree = (board: string): boolean => !spans(lanCuts, board).some(({ from }) => from < settled);
  return at < begunWithin && isFree(leader) && setting.boards.some(({ name }) => name !== leader && isFree(name));
}

const spans = (of: ReadonlyMap<string, readonly Span[]>, board: string): readonly Span[] => of.get(board) ?? [];

const isWhollyWithin = (some: readonly Span[], { from, until }: { from: Millis; until: Millis }): boolean =>
  some.some((span) => span.from <= from && (span.until === undefined || span.until >= until));
