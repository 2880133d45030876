import type { DaemonSet } from "../../api/core.ts";
import { type LabelSelector, labelSelectorOf, SelectorError } from "../../api/selectors.ts";

/** `undefined`: the selector is invalid. An API server admits neither such a set nor one with an empty selector. */
export function selectorOf({ spec }: DaemonSet): LabelSelector | undefined {
  try {
    return labelSelectorOf(spec?.selector ?? {});
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
