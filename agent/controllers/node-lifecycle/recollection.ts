import { elapsed, type Instant, laterOf, type Millis } from "../../base/clock.ts";
import { noPastSilences, type PastSilences, silenceOf } from "../../judgement/past-silence.ts";
import { type Respite, shortenedGrace } from "../../judgement/respites.ts";
import { type BoardRecord, firstMemory, type SiteMemory } from "./memory.ts";

/**
 * What a process keeps of a term for its next one. An outage that lasts longer than `leader.renewDeadline` ends the
 * term, and the silence of a dead board must not begin anew with each.
 */
export interface Recollection {
  /** The last times between outages, oldest first. */
  readonly respites: readonly Respite[];
  /** The boards that were silent while others were heard. */
  readonly silences: PastSilences;
}

export const noRecollection: Recollection = { respites: [], silences: noPastSilences };

/** Maximum number of boards that are kept, those that have been silent longest. */
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

/** Not the boards that an outage silenced: those were heard when others were last heard. */
const isKept = ({ health }: BoardRecord, lastReport: Instant | undefined, gracePeriod: Millis): boolean =>
  health.silentFrom !== undefined ||
  (lastReport !== undefined && elapsed(health.probe, lastReport) >= shortenedGrace(gracePeriod));

/** The memory with which the next term begins. */
export const memoryAfter = ({ respites, silences }: Recollection): SiteMemory => ({
  ...firstMemory,
  respites,
  silences,
});
