import type { Millis } from "../../../../agent/base/clock.ts";
import type { History } from "../history.ts";
import { type Act, actText } from "./acts.ts";

/** From a sign of life until the last act that was already under way: the leader reads the board before each act. */
const underWay: Millis = 2000;

/** For so long the board has been back; after that, it may have fallen silent again. */
const backFor: Millis = 50_000;

/**
 * Whether an operator's word covers an act on a board: it was given before, and the board has given no sign of life
 * since. No rule of silence, of tolerations or of the safety valve applies to such an act. A sign of life that a restore undid
 * does not count for a leader whose board cannot have noticed the restore.
 */
export function isConfirmed(
  history: History,
  { board, sentAt, process }: Pick<Act, "board" | "sentAt"> & Partial<Pick<Act, "process">>,
): boolean {
  const { confirmations, signs, undone } = history;
  const hidden = process === undefined ? [] : undone.filter((one) => !mayNotice(history, process, one));
  const isKnown = (at: Millis): boolean => !hidden.some(({ from, until }) => at >= from && at <= until);
  return confirmations.some(
    (one) =>
      one.board === board &&
      one.from <= sentAt &&
      !(signs.get(board) ?? []).some((at) => at > one.from && at < sentAt - underWay && isKnown(at)),
  );
}

/** Whether a process of this board read a Lease that a restore undid, and no power cut took it from the card. */
function mayNotice(
  { processes, leases, forgotten }: History,
  process: number,
  undone: History["undone"][number],
): boolean {
  const name = processes.get(process)?.board;
  const written = leases.filter(({ at }) => at > undone.from && at < undone.until);
  const [from = Number.POSITIVE_INFINITY] = written.map(({ order }) => order);
  const until = leases.find(({ at }) => at >= undone.until)?.order ?? Number.POSITIVE_INFINITY;
  const lost = forgotten.get(name ?? "") ?? [];
  const isKept = (order: number): boolean => !lost.some((span) => order >= span.from && order < span.until);
  return [...processes.values()].some(
    ({ board, toldTerms }) =>
      board === name && toldTerms.some(({ order }) => order >= from && order < until && isKept(order)),
  );
}

/**
 * Whether the operator's word about a board stands at the end: the answer was "done", the board has given no sign of
 * life since, and no restore undid it.
 */
export const isStanding = ({ confirmations, signs, restores }: History, name: string): boolean =>
  confirmations.some(
    ({ board, from, doneAt }) =>
      board === name &&
      doneAt !== undefined &&
      !(signs.get(board) ?? []).some((at) => at > from) &&
      !restores.some((at) => at > from),
  );

/**
 * Under policy `evidence`, once a confirmed board is back, none of its pods is deleted. Policy `kubernetes` deletes pods
 * as long as it sees the taint; those that tolerate it are the subject of the check of tolerations.
 */
export function checkConfirmed(history: History, acts: readonly Act[]): readonly string[] {
  if (history.setting.policy === "kubernetes") return [];
  return acts.flatMap((act) => {
    if (act.is !== "evict" || isConfirmed(history, act)) return [];
    const one = history.confirmations.findLast(({ board, from }) => board === act.board && from <= act.sentAt);
    const back = one && (history.signs.get(act.board) ?? []).find((at) => at > one.from);
    if (back === undefined || act.sentAt - back > backFor) return [];
    return [`confirmed: ${actText(act)}: it is back since ${(back / 1000).toFixed(3)}s`];
  });
}
