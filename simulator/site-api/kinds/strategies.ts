import { type JsonObject, type JsonValue, member, textAt } from "../../../agent/api/json.ts";
import { forbiddenField, invalidValue, type Problem, required, unsupportedValue } from "../requests/problems.ts";
import { objectAt } from "./pods.ts";
import { negativeProblems } from "./value-problems.ts";

/** How a kind replaces its pods when their template changes. */
export interface StrategyRules {
  /** The field of the spec that holds the strategy. */
  readonly name: "strategy" | "updateStrategy";
  readonly defaults: (strategy: JsonObject) => JsonObject;
  readonly problems: (strategy: JsonObject, at: string) => readonly Problem[];
}

const rolling = "RollingUpdate";

/** Completes a rolling strategy; any other strategy remains unchanged. */
const rollingBy =
  (defaults: JsonObject) =>
  (strategy: JsonObject): JsonObject => {
    const type = textAt(strategy, "type") || rolling;
    if (type !== rolling) return { ...strategy, type };
    return { ...strategy, type, rollingUpdate: { ...defaults, ...objectAt(strategy, "rollingUpdate") } };
  };

/** The limits that the real server stores if none are given: 0 for the one that is not in use. */
const unused: JsonObject = { maxUnavailable: 0, maxSurge: 0 };
const daemonSetDefaults = rollingBy({ maxUnavailable: 1, maxSurge: 0 });

export const daemonSetStrategy: StrategyRules = {
  name: "updateStrategy",
  defaults: (strategy) => {
    const filled = daemonSetDefaults(strategy);
    const idle = filled.type !== rolling && filled.rollingUpdate !== undefined;
    return idle ? { ...filled, rollingUpdate: { ...unused, ...objectAt(filled, "rollingUpdate") } } : filled;
  },
  problems: (strategy, at) => {
    if (strategy.type === "OnDelete") return [];
    if (strategy.type !== rolling) return [unsupportedValue(at, limitsShown(strategy), [rolling, "OnDelete"])];
    const { limits, field, unavailable, surge } = limitsOf(strategy, at);
    const both = unavailable !== 0 && surge !== 0;
    return [
      ...limits,
      ...(both ? [invalidValue(field.surge, surgeOf(strategy), "may not be set when maxUnavailable is non-zero")] : []),
      ...(unavailable === 0 && surge === 0 ? [required(field.unavailable, "cannot be 0 when maxSurge is 0")] : []),
    ];
  },
};

export const deploymentStrategy: StrategyRules = {
  name: "strategy",
  defaults: rollingBy({ maxUnavailable: "25%", maxSurge: "25%" }),
  problems: (strategy, at) => {
    if (strategy.type === "Recreate") {
      const why = "may not be specified when strategy `type` is 'Recreate'";
      return strategy.rollingUpdate === undefined ? [] : [forbiddenField(`${at}.rollingUpdate`, why)];
    }
    if (strategy.type !== rolling) return [unsupportedValue(at, limitsShown(strategy), ["Recreate", rolling])];
    const { limits, field, unavailable, surge } = limitsOf(strategy, at);
    if (unavailable !== 0 || surge !== 0) return limits;
    return [...limits, invalidValue(field.unavailable, unavailableOf(strategy), "may not be 0 when `maxSurge` is 0")];
  },
};

export const statefulSetStrategy: StrategyRules = {
  name: "updateStrategy",
  defaults: (strategy) => {
    // A strategy that has only a type is stored unchanged.
    const bare = textAt(strategy, "type") !== "" && strategy.rollingUpdate === undefined;
    return bare ? strategy : rollingBy({ partition: 0 })(strategy);
  },
  problems: (strategy, at) => {
    if (strategy.type === rolling || strategy.type === "OnDelete") {
      const partition = member(objectAt(strategy, "rollingUpdate"), "partition");
      return strategy.type === rolling ? negativeProblems(`${at}.rollingUpdate.partition`, partition) : [];
    }
    const { partition = 0, maxUnavailable = null } = objectAt(strategy, "rollingUpdate");
    const update = strategy.rollingUpdate && { Partition: partition, MaxUnavailable: maxUnavailable };
    const shown = { Type: textAt(strategy, "type"), RollingUpdate: update ?? null };
    return [invalidValue(at, shown, "must be 'RollingUpdate' or 'OnDelete'")];
  },
};

const unavailableOf = (strategy: JsonObject): JsonValue => objectAt(strategy, "rollingUpdate").maxUnavailable ?? 0;
const surgeOf = (strategy: JsonObject): JsonValue => objectAt(strategy, "rollingUpdate").maxSurge ?? 0;

/** How the real server displays an unknown strategy. */
const limitsShown = (strategy: JsonObject): JsonObject => ({
  Type: textAt(strategy, "type"),
  RollingUpdate:
    strategy.rollingUpdate === undefined
      ? null
      : { MaxUnavailable: unavailableOf(strategy), MaxSurge: surgeOf(strategy) },
});

function limitsOf(strategy: JsonObject, at: string) {
  const field = { unavailable: `${at}.rollingUpdate.maxUnavailable`, surge: `${at}.rollingUpdate.maxSurge` };
  const [unavailable, surge] = [unavailableOf(strategy), surgeOf(strategy)];
  const limits = [...amountProblems(field.unavailable, unavailable), ...amountProblems(field.surge, surge)];
  const above = amountOf(unavailable) > 100 && typeof unavailable === "string";
  const tooMuch = above ? [invalidValue(field.unavailable, unavailable, "must not be greater than 100%")] : [];
  return { field, limits: [...limits, ...tooMuch], unavailable: amountOf(unavailable), surge: amountOf(surge) };
}

/** The amount as a number, of pods or per cent; anything else counts as 0. */
const amountOf = (value: JsonValue): number =>
  typeof value === "number" ? value : /^[0-9]+%$/.test(String(value)) ? Number.parseInt(String(value), 10) : 0;

function amountProblems(field: string, value: JsonValue): readonly Problem[] {
  if (typeof value === "number") return negativeProblems(field, value);
  const why = "a valid percent string must be a numeric string followed by an ending '%'";
  return /^[0-9]+%$/.test(String(value)) ? [] : [invalidValue(field, value, why)];
}
