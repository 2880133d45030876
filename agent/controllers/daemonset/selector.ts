import type { DaemonSet } from "../../api/core.ts";
import { type LabelSelector, labelSelectorOf, SelectorError } from "../../api/selectors.ts";

/** `undefined`: it cannot be read. An API server takes no such set; one that selects everything it does not take either. */
export function selectorOf({ spec }: DaemonSet): LabelSelector | undefined {
  try {
    return labelSelectorOf(spec?.selector ?? {});
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
