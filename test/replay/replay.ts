import { readCase } from "./case.ts";
import { type Difference, differences } from "./diff.ts";
import { loadFamily } from "./families.ts";
import type { Outcome } from "./outcome.ts";

export interface Replayed {
  readonly id: string;
  readonly family: string;
  readonly outcome: Outcome;
  /** `undefined`: the case expects nothing. */
  readonly differences: readonly Difference[] | undefined;
}

/** Runs the case in the text of a file. Throws a MalformedCase if the text is not a valid case. */
export async function replay(source: string, file: string): Promise<Replayed> {
  const input = readCase(source, file);
  const { id, family, expect } = input;
  const outcome = await (await loadFamily(family)).run(input);
  return { id, family, outcome, differences: expect && differences(expect, outcome) };
}
