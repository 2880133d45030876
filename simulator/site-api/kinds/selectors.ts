import type { JsonValue } from "../../../agent/api/json.ts";
import { labelSelectorOf, SelectorError, type WrittenSelector } from "../../../agent/api/selectors.ts";
import { invalidValue, type Problem } from "../requests/problems.ts";

/** The problems of an object's selector. The types were checked when it was read, but the content was not. */
export function selectorProblems(selector: JsonValue | undefined, field: string): readonly Problem[] {
  if (selector === undefined) return [];
  try {
    labelSelectorOf(selector as WrittenSelector);
    return [];
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return [invalidValue(field, selector, error.message)];
  }
}
