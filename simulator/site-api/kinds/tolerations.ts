import { itemsAt, type JsonValue, textAt, valueAt } from "../../../agent/api/json.ts";
import { isLabelValue, keyProblems } from "../objects/names.ts";
import { invalidValue, type Problem, unsupportedValue } from "../requests/problems.ts";

export const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function tolerationProblems(spec: JsonValue | undefined, field: string): readonly Problem[] {
  return itemsAt(spec, "tolerations").flatMap((toleration, i) => problemsOf(toleration, `${field}.tolerations[${i}]`));
}

function problemsOf(toleration: JsonValue, at: string): readonly Problem[] {
  const [key, operator] = [textAt(toleration, "key"), textAt(toleration, "operator")];
  const [value, effect] = [textAt(toleration, "value"), textAt(toleration, "effect")];
  const timed = valueAt(toleration, "tolerationSeconds") !== undefined;
  return [
    ...(key === "" ? [] : keyProblems(`${at}.key`, key)),
    ...(key === "" && operator !== "Exists"
      ? [invalidValue(`${at}.operator`, operator, "operator must be Exists when `key` is empty")]
      : []),
    ...(timed && effect !== "NoExecute"
      ? [invalidValue(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")]
      : []),
    ...operatorProblems(operator, value, at),
    ...(effect === "" || taintEffects.includes(effect) ? [] : [unsupportedValue(`${at}.effect`, effect, taintEffects)]),
  ];
}

function operatorProblems(operator: string, value: string, at: string): readonly Problem[] {
  switch (operator) {
    case "":
    case "Equal":
      return isLabelValue(value) ? [] : [invalidValue(`${at}.value`, value, "must be the value of a label")];
    case "Exists":
      return value === ""
        ? []
        : [invalidValue(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'")];
    default:
      return [unsupportedValue(`${at}.operator`, operator, ["Equal", "Exists"])];
  }
}
