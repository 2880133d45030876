import { elapsed, type Instant, laterOf, type Millis } from "../../base/clock.ts";
import { noPastSilences, type PastSilences, silenceOf } from "../../judgement/past-silence.ts";
import { type Respite, shortenedGrace } from "../../judgement/respites.ts";
import { type BoardRecord, firstMemory, type SiteMemory } from "./memory.ts";

/**
 * The state that a process keeps from one of its terms to the next. An outage that lasts longer than
 * `leader.renewDeadline` ends the term, and the silence of a dead board must not begin anew with each such outage.
 */
export interface Recollection {
  /** The latest respites, oldest first. */
  readonly respites: readonly Respite[];
  /** The boards that were silent while others sent heartbeats. */
  readonly silences: PastSilences;
}

export const noRecollection: Recollection = { respites: [], silences: noPastSilences };

/** Maximum number of silences that are kept: the longest ones. */
const maxSilences = 500;

export function recollect({ respites, boards }: SiteMemory, gracePeriod: Millis): Recollection {
  const lastReport = [...boards.values()].map(({ health }) => health.reportedAt).reduce(laterOf, undefined);
  const silences = [...boards]
    .flatMap(([name, board]) =>
      isKept(board, lastReport, gracePeriod) ? [[name, silenceOf(board.health)] as const] : [],
    )
    .sort(([, a], [, b]) => a.since.mono - b.since.mono)
    .slice(0, maxSilences);
  return { respites, silences: new Map(silences) };
}

/**
 * Whether the silence of a board is kept. It is not kept if an outage silenced the board: such a board was still heard
 * when the others were last heard.
 */
const isKept = ({ health }: BoardRecord, lastReport: Instant | undefined, gracePeriod: Millis): boolean =>
  health.silentFrom !== undefined ||
  (lastReport !== undefined && elapsed(health.probe, lastReport) >= shortenedGrace(gracePeriod));

/** The memory with which the next term begins. */
export const memoryAfter = ({ respites, silences }: Recollection): SiteMemory => ({
  ...firstMemory,
  respites,
  silences,
});
