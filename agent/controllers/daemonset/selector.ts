import type { DaemonSet } from "../../api/core.ts";
import { type LabelSelector, labelSelectorOf, SelectorError } from "../../api/selectors.ts";

/**
 * The selector of a set; undefined if it is invalid. API servers do not admit a set with an invalid or empty selector.
 */
export function selectorOf({ spec }: DaemonSet): LabelSelector | undefined {
  try {
    return labelSelectorOf(spec?.selector ?? {});
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
