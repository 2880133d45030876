import type { BoardPart, ConfigPart, JournalPart, MemoryPart, Parts } from "./parts.ts";

/** The contribution of a companion to the status; memory, board, journal and config may be partial. */
export interface Told
  extends Partial<Omit<Parts, "now" | "process" | "identity" | "memory" | "board" | "journal" | "config">> {
  readonly memory?: Partial<MemoryPart>;
  readonly board?: Partial<BoardPart>;
  readonly journal?: Partial<JournalPart>;
  readonly config?: Partial<ConfigPart>;
}

/**
 * Merges contributions: problems add up, the last value of a member wins, and partial members only complete existing
 * ones.
 */
export function completed(parts: Parts, told: readonly Told[]): Parts {
  let whole = parts;
  for (const { memory, board, journal, config, problems, ...rest } of told) {
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
