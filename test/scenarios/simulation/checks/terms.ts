import type { Millis } from "../../../../agent/base/clock.ts";
import type { History, LeaseContent, ProcessHistory, Write } from "../history.ts";
import { leasePath } from "../recorder.ts";

/** A term, which begins with a write of the Lease. */
export interface TermBegun {
  readonly process: number;
  readonly board: string;
  readonly number: number;
  readonly uid: string;
  readonly at: Millis;
  readonly order: number;
  /** The budget on the Lease at that time. */
  readonly budget: string | undefined;
  /** The write that began it. */
  readonly by: Write;
  /** A restore undid later terms, and the holder, unaware of them, renewed the restored Lease. */
  readonly isResumed: boolean;
  /** The last effective renewal, with the duration that it wrote. */
  renewed: { readonly sentAt: Millis; readonly seconds: number };
  /** When its holder released it. */
  released: { readonly sentOrder: number; readonly at: Millis } | undefined;
}

/** The terms by the writes at the API server. */
export function termsOf({ leases }: History): readonly TermBegun[] {
  const terms: TermBegun[] = [];
  /** The Lease at the last restore since the last term began. */
  let restored: LeaseContent | undefined;
  for (const { at, order, by, lease } of leases) {
    if (lease === undefined) continue;
    if (by === undefined) {
      restored = lease;
      continue;
    }
    const last = terms.at(-1);
    const { holder } = claimIn(by);
    const isHolders = holder === undefined && last?.process !== by.process && restored?.term === lease.term;
    const former = isHolders
      ? terms.findLast(({ number, uid }) => number === lease.term && uid === lease.uid)
      : undefined;
    if (former?.process === by.process) terms.push({ ...begun(by, lease, at, order), isResumed: true });
    else if (holder !== undefined && holder !== "") terms.push(begun(by, lease, at, order));
    else if (holder === "" && last?.process === by.process) last.released = { sentOrder: by.order, at };
    else if (last?.process === by.process) last.renewed = { sentAt: by.sentAt, seconds: lease.seconds };
  }
  return terms;
}

const begun = (write: Write, lease: LeaseContent, at: Millis, order: number): TermBegun => ({
  process: write.process,
  board: write.board,
  number: lease.term,
  uid: lease.uid,
  at,
  order,
  budget: lease.budget,
  by: write,
  isResumed: false,
  renewed: { sentAt: write.sentAt, seconds: lease.seconds },
  released: undefined,
});

/** `holder` is undefined for a renewal or another change. */
const claimIn = ({ body }: Write): { readonly holder: string | undefined } => ({
  holder: JSON.parse(body).spec?.holderIdentity,
});

const isElection = ({ path }: Write): boolean => leasePath.startsWith(path.split("?")[0] ?? path);
const isCandidacy = (write: Write): boolean => isElection(write) && Boolean(claimIn(write).holder);

/**
 * A late write of the Lease that names the version on which it is based: a candidate that reads its own former name may renew
 * that Lease, unaware of later changes.
 */
const isInVain = (write: Write): boolean =>
  isElection(write) && write.body.includes('"resourceVersion"') && (write.effect?.status ?? 300) >= 300;

/**
 * No write of a term is sent after the next term began, or after its release; no process that never led writes; a term
 * begins only when no process can trust the previous one; and term numbers only grow, as far as any process knows.
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
    if (isCandidacy(write) || isInVain(write) || terms[next]?.by === write) continue;
    const term = terms[next - 1];
    const what = `${write.method} ${write.path} of process ${write.process}@${write.board}, sent at ${shown(write.sentAt)}`;
    if (term?.process !== write.process) {
      wrong.push(`terms: ${what}, while process ${term?.process} leads since ${shown(term?.at ?? 0)}`);
    } else if (term.released !== undefined && write.order > term.released.sentOrder) {
      wrong.push(`terms: ${what}, after it released the Lease at ${shown(term.released.at)}`);
    }
  }
  return wrong;
}

/** How long a holder may trust its term after it sent its last renewal (judgement: terms). */
const trust = (seconds: number): Millis => seconds * 1000 - Math.max(seconds * 100, 2000);

function checkBeginnings({ setting, leases, processes }: History, terms: readonly TermBegun[]): readonly string[] {
  const wrong: string[] = [];
  for (const [index, term] of terms.entries()) {
    const before = terms[index - 1];
    // A board takes over its own former Lease at once: that process has ended.
    if (before === undefined || before.board === term.board || before.released !== undefined) continue;
    // No other board can know of renewals that a restore undid. Their holder notices before it writes: see checkWrites.
    if ((restoreBefore(leases, term)?.order ?? 0) > before.order) continue;
    // Nor of a term whose Lease was created and deleted between two of its looks. The holder notices at its renewal.
    if (before.uid !== term.uid && wasMissed(processes.get(term.process), before, term)) continue;
    const pace = setting.boards.find(({ name }) => name === before.board)?.pace ?? 1;
    const until = before.renewed.sentAt + trust(before.renewed.seconds) / pace;
    if (term.at < until) {
      wrong.push(
        `terms: ${term.number} began at ${shown(term.at)} on ${term.board}, while ${before.board} may trust ` +
          `${before.number} until ${shown(until)}`,
      );
    }
  }
  return wrong;
}

/** Whether a process that ran before this term began had read nothing of it when the next one began. */
const wasMissed = (process: ProcessHistory | undefined, { at, order }: TermBegun, next: TermBegun): boolean =>
  process !== undefined &&
  process.startedAt < at &&
  !process.toldTerms.some((told) => told.order > order && told.order < next.order);

function checkNumbers({ processes, leases }: History, terms: readonly TermBegun[]): readonly string[] {
  const wrong: string[] = [];
  for (const [index, term] of terms.entries()) {
    if (term.isResumed) continue;
    const fromLease = (processes.get(term.process)?.toldTerms ?? []).filter(({ order }) => order < term.order);
    // Terms that a restore undid are on no Lease: only the processes of that time know of them, if an answer told them.
    const before = terms
      .slice(0, index)
      .filter((one) =>
        isUndone(leases, one, term)
          ? one.board === term.board && !wasMissed(processes.get(one.process), { ...one, order: one.order - 1 }, term)
          : one.board === term.board || one.uid === term.uid,
      );
    const known = Math.max(-1, ...fromLease.map(({ term: number }) => number), ...before.map(({ number }) => number));
    if (term.number <= known) {
      wrong.push(`terms: ${term.board} began ${term.number} at ${shown(term.at)}, though it knew of ${known}`);
    }
  }
  return wrong;
}

/** The last restore before a term, with the Lease at that moment. */
const restoreBefore = (leases: History["leases"], term: TermBegun) =>
  leases.findLast(({ by, lease, order }) => by === undefined && lease !== undefined && order < term.order);

/** Whether no Lease still shows that there was such a term. */
function isUndone(leases: History["leases"], before: TermBegun, next: TermBegun): boolean {
  const restore = restoreBefore(leases, next);
  return restore?.lease !== undefined && before.order < restore.order && before.number > restore.lease.term;
}

const shown = (time: Millis): string => `${(time / 1000).toFixed(3)}s`;
