import type { Millis } from "../../../base/clock.ts";
import type { DecisionRecord } from "../../../decisions/decision-record.ts";
import type { Status } from "../../../status/schema.ts";
import type { StatusFinding } from "../status/status-reader.ts";

/** The leader of the site, as far as this board's agent reports it. */
export interface KnownLeader {
  readonly board: string;
  /** Whether the agent runs. */
  readonly isRunning: boolean;
  /** The agent's status, or its last one; undefined if there is none that can be read. */
  readonly status: Status | undefined;
  /** The board that leads now; undefined if it is not known. */
  readonly leader: string | undefined;
}

/** `answered`: the agent's answer to the command; undefined if no agent answered. */
export function knownLeaderOf(
  board: string,
  found: StatusFinding,
  answered: { readonly leader: string | undefined } | undefined,
): KnownLeader {
  const status = "status" in found && found.status.identity.board === board ? found.status : undefined;
  const isFresh = found.kind === "fresh" && status !== undefined;
  const leader = (isFresh ? status.leader?.holder : undefined) ?? answered?.leader;
  return { board, isRunning: answered !== undefined || isFresh, status, leader };
}

export const leads = ({ board, isRunning, status, leader }: KnownLeader): boolean =>
  isRunning && (status?.leader === undefined ? leader === board : status.leader.role === "leader");

/**
 * Why this board no longer decides about the act of a record, as a clause; undefined if it still does. `newer`: the
 * records that are newer than this one.
 */
export function endOf(
  record: DecisionRecord,
  leading: KnownLeader,
  newer: readonly DecisionRecord[],
): string | undefined {
  const { term } = record;
  const { isRunning, status } = leading;
  const next = newer.find(({ act, on }) => act === record.act && on.uid === record.on.uid);
  if (next) return next.term === term ? "its agent restarted" : "its term ended";
  if (!isRunning && status === undefined) return "its agent stopped or its term ended";
  if (isRunning ? !leads(leading) : status?.leader?.role !== "leader") return "its term ended";
  if (status === undefined) return undefined;
  if (status.leader !== undefined && status.leader.term !== term) return "its term ended";
  if (!isRunning) return "its agent stopped";
  return isOfThisProcess(record, status) ? undefined : "its agent restarted";
}

/** Two clocks that count from the same boot may differ by this much. */
const tolerance: Millis = 1000;

/** Whether the process that wrote the status began the record. Measured on the boot clock, which is never set. */
function isOfThisProcess({ first }: DecisionRecord, status: Status): boolean {
  const { bootId, writtenBootMs, writtenAt, startedAt } = status;
  const startedBootMs = writtenBootMs - (Date.parse(writtenAt) - Date.parse(startedAt));
  return first.boot === bootId && !(first.mono < startedBootMs - tolerance);
}

/** A sentence about which board to ask instead; undefined if this board itself leads. */
export function pointerOf(known: KnownLeader): string | undefined {
  const { board, isRunning, status, leader } = known;
  if (leads(known)) return undefined;
  if (!isRunning)
    return `The agent of this board, ${board}, is not running: its records end where it stopped. Ask the board that leads now.`;
  if (leader !== undefined && leader !== board) return `${leader} leads now: ask there about anything later.`;
  return status?.link && status.link.api.state !== "up"
    ? "Which board leads now is not known, because the API cannot be reached."
    : "No board is known to lead now.";
}
