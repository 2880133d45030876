import type { BoardPart, ConfigPart, JournalPart, MemoryPart, Parts } from "./parts.ts";

/** The parts of the status that a companion provides; memory, board, journal and config may be partial. */
export interface StatusContribution
  extends Partial<Omit<Parts, "now" | "process" | "identity" | "memory" | "board" | "journal" | "config">> {
  readonly memory?: Partial<MemoryPart>;
  readonly board?: Partial<BoardPart>;
  readonly journal?: Partial<JournalPart>;
  readonly config?: Partial<ConfigPart>;
}

/**
 * Adds contributions to the parts: problems are appended, partial members complete existing ones, and any other member
 * takes its last value.
 */
export function withContributions(parts: Parts, contributions: readonly StatusContribution[]): Parts {
  let whole = parts;
  for (const { memory, board, journal, config, problems, ...rest } of contributions) {
    whole = {
      ...whole,
      ...rest,
      ...(whole.memory && { memory: { ...whole.memory, ...memory } }),
      ...(whole.board && { board: { ...whole.board, ...board } }),
      ...(whole.journal && { journal: { ...whole.journal, ...journal } }),
      ...(whole.config && { config: { ...whole.config, ...config } }),
      ...(problems && { problems: [...(whole.problems ?? []), ...problems] }),
    };
  }
  return whole;
}
