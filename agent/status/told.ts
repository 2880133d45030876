import type { BoardPart, ConfigPart, JournalPart, MemoryPart, Parts } from "./parts.ts";

/** What a part of the program that runs beside the agent tells of itself, and of what others tell of as well. */
export interface Told
  extends Partial<Omit<Parts, "now" | "process" | "identity" | "memory" | "board" | "journal" | "config">> {
  readonly memory?: Partial<MemoryPart>;
  readonly board?: Partial<BoardPart>;
  readonly journal?: Partial<JournalPart>;
  readonly config?: Partial<ConfigPart>;
}

/** Problems add up. Where two tell the same member, the last one counts; what nobody began is not completed. */
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
