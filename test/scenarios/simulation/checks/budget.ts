import type { History } from "../history.ts";
import { judging } from "../site-config.ts";
import { type Act, actText } from "./acts.ts";
import type { Hearing } from "./hearing.ts";
import type { TermBegun } from "./terms.ts";

/** Levels are stored with three digits, and clocks differ. */
const rounding = 0.01;
const drift = 1.01;
const burst = 1;

/**
 * In any period, across all leaders, a zone's rate plus one token limits how many of its boards are tainted. The time
 * of the effective request counts. Under policy `kubernetes`, a zone without a level from the former leader begins with
 * a full token; under `evidence`, the rate is reduced for a while after an outage. What a leader used after its last
 * renewal is unknown to the next one.
 */
export function checkBudget(
  history: History,
  acts: readonly Act[],
  terms: readonly TermBegun[],
  hearings: ReadonlyMap<number, Hearing>,
): readonly string[] {
  const { policy, evictionRate } = history.setting;
  const wrong: string[] = [];
  for (const zone of new Set(history.setting.boards.map((board) => board.zone))) {
    const taints = acts.filter((act) => act.is === "taint" && act.isDone && act.zone === zone);
    for (const [first, from] of taints.entries()) {
      for (const [last, to] of taints.entries()) {
        if (last <= first) continue;
        const time = (to.sentAt - from.sentAt) / 1000;
        const fresh = policy === "kubernetes" ? freshStarts(terms, zone, from, to) : 0;
        const isSlow = policy === "evidence" && isRecovering(from, to, hearings.get(from.process));
        const rate = isSlow ? Math.min(evictionRate, judging.secondaryRate) : evictionRate;
        const most = burst + rate * time * drift + rounding + fresh + unrecorded(terms, taints, from, to);
        const count = last - first + 1;
        if (count > most)
          wrong.push(
            `budget: ${count} boards of ${zone} within ${time.toFixed(3)}s: ${actText(from)} … ${actText(to)}`,
          );
      }
    }
  }
  return wrong;
}

/** Whether both acts follow the same outage of their leader, within its first period. */
function isRecovering(from: Act, to: Act, hearing: Hearing | undefined): boolean {
  if (from.process !== to.process) return false;
  const restored = hearing?.restoredBefore(from.sentAt);
  return (
    restored !== undefined &&
    hearing?.restoredBefore(to.sentAt) === restored &&
    to.sentAt - restored < judging.recovery / drift
  );
}

/** Terms that began in between without a stored level for the zone. */
const freshStarts = (terms: readonly TermBegun[], zone: string, from: Act, to: Act): number =>
  terms.filter(
    ({ order, budget }) => order > from.order && order < to.order && !(budget !== undefined && knows(budget, zone)),
  ).length;

/** Taints that a leader sent after its last renewal, if its term ended in between. */
const unrecorded = (terms: readonly TermBegun[], taints: readonly Act[], from: Act, to: Act): number =>
  terms.flatMap(({ process, renewed }, index) => {
    const end = terms[index + 1]?.order ?? Number.POSITIVE_INFINITY;
    return taints.filter(
      (act) =>
        end < to.order &&
        act.process === process &&
        act.sentAt >= renewed.sentAt &&
        act.order >= from.order &&
        act.order < end,
    );
  }).length;

const knows = (budget: string, zone: string): boolean =>
  Object.keys(JSON.parse(budget).zones ?? {}).some((key) => key.endsWith(zone));
