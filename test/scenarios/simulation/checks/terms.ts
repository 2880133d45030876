import type { Millis } from "../../../../agent/base/clock.ts";
import type { History, LeaseContent, Write } from "../history.ts";
import { leasePath } from "../recorder.ts";

/** A term, from the write of the Lease with which it began. */
export interface TermBegun {
  readonly process: number;
  readonly board: string;
  readonly number: number;
  readonly uid: string;
  readonly at: Millis;
  readonly order: number;
  /** What the Lease carried then. */
  readonly budget: string | undefined;
  /** The last renewal of it that took effect, with the duration that it wrote. */
  renewed: { readonly sentAt: Millis; readonly seconds: number };
  /** When its holder gave it back. */
  released: { readonly sentOrder: number; readonly at: Millis } | undefined;
}

/** The terms as the API server saw them. */
export function termsOf({ leases }: History): readonly TermBegun[] {
  const terms: TermBegun[] = [];
  for (const { at, order, by, lease } of leases) {
    if (by === undefined || lease === undefined) continue;
    const last = terms.at(-1);
    const { holder } = claimIn(by);
    if (holder !== undefined && holder !== "") terms.push(begun(by, lease, at, order));
    else if (holder === "" && last?.process === by.process) last.released = { sentOrder: by.order, at };
    else if (last?.process === by.process) last.renewed = { sentAt: by.sentAt, seconds: lease.seconds };
  }
  return terms;
}

const begun = ({ process, board, sentAt }: Write, lease: LeaseContent, at: Millis, order: number): TermBegun => ({
  process,
  board,
  number: lease.term,
  uid: lease.uid,
  at,
  order,
  budget: lease.budget,
  renewed: { sentAt, seconds: lease.seconds },
  released: undefined,
});

/** `holder` undefined: a renewal, or something else. */
const claimIn = ({ body }: Write): { readonly holder: string | undefined } => ({
  holder: JSON.parse(body).spec?.holderIdentity,
});

const isElection = ({ path }: Write): boolean => leasePath.startsWith(path.split("?")[0] ?? path);
const isCandidacy = (write: Write): boolean => isElection(write) && Boolean(claimIn(write).holder);

/**
 * A write of the Lease that names the version that it builds on, and came too late: a candidate that reads its own former
 * name may renew that Lease, and cannot know that somebody else did more meanwhile.
 */
const isInVain = (write: Write): boolean =>
  isElection(write) && write.body.includes('"resourceVersion"') && (write.effect?.status ?? 300) >= 300;

/**
 * No write of a term is sent after the next one has begun, nor after it was given back; nobody writes who never led; a
 * term begins only when the one before it cannot be believed in any more; numbers only grow, as far as anybody knows.
 */
export function checkTerms(history: History): readonly string[] {
  const terms = termsOf(history);
  return [...checkWrites(history, terms), ...checkBeginnings(history, terms), ...checkNumbers(history, terms)];
}

function checkWrites({ writes }: History, terms: readonly TermBegun[]): readonly string[] {
  const wrong: string[] = [];
  let next = 0;
  for (const write of writes) {
    while (next < terms.length && (terms[next]?.order ?? 0) < write.order) next++;
    if (isCandidacy(write) || isInVain(write)) continue;
    const term = terms[next - 1];
    const what = `${write.method} ${write.path} of process ${write.process}@${write.board}, sent at ${shown(write.sentAt)}`;
    if (term?.process !== write.process) {
      wrong.push(`terms: ${what}, while process ${term?.process} leads since ${shown(term?.at ?? 0)}`);
    } else if (term.released !== undefined && write.order > term.released.sentOrder) {
      wrong.push(`terms: ${what}, after it gave the Lease back at ${shown(term.released.at)}`);
    }
  }
  return wrong;
}

/** How long a holder may believe in its term after it sent its last renewal (judgement: terms). */
const trust = (seconds: number): Millis => seconds * 1000 - Math.max(seconds * 100, 2000);

function checkBeginnings({ setting, leases }: History, terms: readonly TermBegun[]): readonly string[] {
  const wrong: string[] = [];
  for (const [index, term] of terms.entries()) {
    const before = terms[index - 1];
    // A board takes its own former Lease over at once: that process is gone.
    if (before === undefined || before.board === term.board || before.released !== undefined) continue;
    // No other board can know of renewals that a restore undid. Their holder finds out before it writes: see checkWrites.
    if ((restoreBefore(leases, term)?.order ?? 0) > before.order) continue;
    const pace = setting.boards.find(({ name }) => name === before.board)?.pace ?? 1;
    const until = before.renewed.sentAt + trust(before.renewed.seconds) / pace;
    if (term.at < until) {
      wrong.push(
        `terms: ${term.number} began at ${shown(term.at)} on ${term.board}, while ${before.board} may believe in ` +
          `${before.number} until ${shown(until)}`,
      );
    }
  }
  return wrong;
}

function checkNumbers({ processes, leases }: History, terms: readonly TermBegun[]): readonly string[] {
  const wrong: string[] = [];
  for (const [index, term] of terms.entries()) {
    const told = (processes.get(term.process)?.toldTerms ?? []).filter(({ order }) => order < term.order);
    // What a restore undid is on no Lease any more: only those who were there know of it.
    const before = terms
      .slice(0, index)
      .filter((one) => one.board === term.board || (one.uid === term.uid && !isUndone(leases, one, term)));
    const known = Math.max(-1, ...told.map(({ term: number }) => number), ...before.map(({ number }) => number));
    if (term.number <= known) {
      wrong.push(`terms: ${term.board} began ${term.number} at ${shown(term.at)}, though it knew of ${known}`);
    }
  }
  return wrong;
}

/** The last time before a term that the store went back, and the Lease as it was then. */
const restoreBefore = (leases: History["leases"], term: TermBegun) =>
  leases.findLast(({ by, lease, order }) => by === undefined && lease !== undefined && order < term.order);

/** No Lease says any more that there was such a term. */
function isUndone(leases: History["leases"], before: TermBegun, next: TermBegun): boolean {
  const restore = restoreBefore(leases, next);
  return restore?.lease !== undefined && before.order < restore.order && before.number > restore.lease.term;
}

const shown = (time: Millis): string => `${(time / 1000).toFixed(3)}s`;
