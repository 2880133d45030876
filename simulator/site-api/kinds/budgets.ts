import { isJsonObject, type JsonValue, numberAt, textAt, valueAt } from "../../../agent/api/json.ts";
import { invalidValue, type Problem, unsupportedValue } from "../requests/problems.ts";
import type { Rules } from "../served-kind.ts";
import { objectAt } from "./pods.ts";
import { selectorProblems } from "./selectors.ts";

const policies = ["AlwaysAllow", "IfHealthyBudget"];
const unjudged = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };

export const disruptionBudgetRules: Rules = {
  created: (budget) => ({ ...budget, spec: objectAt(budget, "spec"), status: unjudged }),
  updated: (budget) => ({
    ...budget,
    spec: objectAt(budget, "spec"),
    status: { ...unjudged, ...objectAt(budget, "status") },
  }),
  problems: (budget) => {
    const [least, most] = [valueAt(budget, "spec", "minAvailable"), valueAt(budget, "spec", "maxUnavailable")];
    const both = least !== undefined && most !== undefined;
    const negative = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"].flatMap((name) => {
      const value = numberAt(budget, "status", name) ?? 0;
      return value < 0 ? [invalidValue(`status.${name}`, value, "must be greater than or equal to 0")] : [];
    });
    const policy = textAt(budget, "spec", "unhealthyPodEvictionPolicy");
    return [
      ...selectorProblems(valueAt(budget, "spec", "selector"), "spec.selector"),
      ...(policy === "" || policies.includes(policy)
        ? []
        : [unsupportedValue("spec.unhealthyPodEvictionPolicy", policy, policies)]),
      ...(both ? [invalidValue("spec", budget.spec, "minAvailable and maxUnavailable cannot be both set")] : []),
      ...amountProblems("spec.minAvailable", least),
      ...amountProblems("spec.maxUnavailable", most),
      ...negative,
    ];
  },
};

/** The problems of an amount: a number of pods, or a percentage of all. */
function amountProblems(field: string, value: JsonValue | undefined): readonly Problem[] {
  if (value === undefined) return [];
  const fits = typeof value === "number" ? value >= 0 : /^(100|\d?\d)%$/.test(String(value));
  return fits ? [] : [invalidValue(field, value, "must be a number that is not negative, or a percentage up to 100%")];
}

/** The selector of a budget; undefined for a budget without one, which applies to no pod. */
export const selectorOf = (budget: JsonValue) => {
  const selector = valueAt(budget, "spec", "selector");
  return isJsonObject(selector) ? selector : undefined;
};
