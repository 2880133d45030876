import type { Millis } from "../../../../agent/base/clock.ts";
import type { History } from "../history.ts";
import { type Act, told } from "./acts.ts";
import type { TermBegun } from "./terms.ts";

/** Levels travel with three digits, and no clock runs exactly like another. */
const rounding = 0.01;
const drift = 1.01;
const burst = 1;

/** Between two conditions that a pass writes, one after the other, over a slow link. */
const betweenConditions: Millis = 30_000;

/**
 * Within any time, of a zone no more boards are tainted than its rate and one token allow, whoever led meanwhile. What
 * counts is when a taint was tried first: a write that met a newer Node is repeated at no price. Under policy
 * `kubernetes` a zone of which nothing was handed on begins with a full allowance.
 */
export function checkBudget(history: History, acts: readonly Act[], terms: readonly TermBegun[]): readonly string[] {
  const wrong: string[] = [];
  for (const zone of new Set(history.setting.boards.map((board) => board.zone))) {
    const taints = acts
      .filter((act) => act.is === "taint" && act.isDone && act.zone === zone)
      .map((act) => ({ act, at: grantedAt(acts, act) }))
      .sort((a, b) => a.at - b.at);
    for (const [first, { act: from, at: begin }] of taints.entries()) {
      for (const [last, { act: to, at: end }] of taints.entries()) {
        if (last <= first) continue;
        const time = (end - begin) / 1000;
        const fresh = history.setting.policy === "kubernetes" ? freshStarts(terms, zone, from, to) : 0;
        const most = burst + history.setting.evictionRate * time * drift + rounding + fresh;
        const count = last - first + 1;
        if (count > most) wrong.push(`budget: ${count} boards of ${zone} within ${time}s: ${told(from)} … ${told(to)}`);
      }
    }
  }
  return wrong;
}

/**
 * When the token was taken, at the latest: a pass takes it at its beginning, and writes the conditions of silent boards
 * before it taints. So much later than that the taint may be sent; the token's own time is not on the wire.
 */
function grantedAt(acts: readonly Act[], taint: Act): Millis {
  let at = taint.triedAt;
  for (const act of acts.slice(0, acts.indexOf(taint)).reverse()) {
    if (act.process !== taint.process || at - act.triedAt > betweenConditions || act.is === "taint") break;
    if (act.is === "unknown") at = Math.min(at, act.triedAt);
  }
  return at;
}

/** Terms that began in between and found nothing about the zone. */
const freshStarts = (terms: readonly TermBegun[], zone: string, from: Act, to: Act): number =>
  terms.filter(
    ({ order, budget }) => order > from.order && order < to.order && !(budget !== undefined && knows(budget, zone)),
  ).length;

const knows = (budget: string, zone: string): boolean =>
  Object.keys(JSON.parse(budget).zones ?? {}).some((key) => key.endsWith(zone));
