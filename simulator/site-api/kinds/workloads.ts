import {
  isJsonObject,
  isSameJson,
  type JsonObject,
  type JsonValue,
  member,
  textAt,
  valueAt,
} from "../../../agent/api/json.ts";
import type { ApiObject } from "../objects/object.ts";
import { invalidValue, type Problem, required, unsupportedValue } from "../requests/problems.ts";
import type { Rules } from "../served-kind.ts";
import { podSpecDefaults } from "./pod-defaults.ts";
import { podSpecProblems } from "./pod-problems.ts";
import { objectAt } from "./pods.ts";
import { selectorProblems } from "./selectors.ts";
import { daemonSetStrategy, deploymentStrategy, type StrategyRules, statefulSetStrategy } from "./strategies.ts";
import { negativeProblems } from "./value-problems.ts";

const counted = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
};

const daemonSet = workload({ revisionHistoryLimit: 10 }, counted, daemonSetStrategy);

export const daemonSetRules: Rules = {
  ...daemonSet,
  created: (object, admission) => withTemplateGeneration(daemonSet.created?.(object, admission) ?? object, 1),
  updated: (object, before) => {
    const now = daemonSet.updated?.(object, before) ?? object;
    const same = isSameJson(valueAt(now, "spec", "template"), completeTemplate(before));
    const generation = Number(textAt(before, "metadata", "annotations", templateGeneration) || 1);
    return withTemplateGeneration(now, same ? generation : generation + 1);
  },
};

/** An old annotation that controllers still read: the number of changes of the template. */
const templateGeneration = "deprecated.daemonset.template.generation";

function withTemplateGeneration(object: JsonObject, generation: number): JsonObject {
  const annotations = { ...objectAt(object, "metadata", "annotations"), [templateGeneration]: String(generation) };
  return { ...object, metadata: { ...objectAt(object, "metadata"), annotations } };
}

export const replicaSetRules: Rules = workload({ replicas: 1 }, { replicas: 0 });

export const deploymentRules: Rules = workload(
  {
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
  },
  {},
  deploymentStrategy,
);

export const statefulSetRules: Rules = workload(
  {
    replicas: 1,
    podManagementPolicy: "OrderedReady",
    revisionHistoryLimit: 10,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
  },
  { replicas: 0, availableReplicas: 0 },
  statefulSetStrategy,
);

/** A kind with a selector and a pod template. */
function workload(defaults: JsonObject, status: JsonObject, strategy?: StrategyRules): Rules {
  const withDefaults = (object: ApiObject): JsonObject => {
    const spec = filled(objectAt(object, "spec"), defaults);
    const rolled = strategy && { [strategy.name]: strategy.defaults(objectAt(spec, strategy.name)) };
    return { ...object, spec: { ...spec, ...rolled, template: completeTemplate(object) } };
  };
  return {
    created: (object) => ({ ...withDefaults(object), status }),
    updated: withDefaults,
    problems: (object, before) => {
      // Values accepted earlier remain valid as long as they are unchanged.
      if (before !== undefined && isSameJson(object.spec, withDefaults(before).spec)) return [];
      return [
        ...negativeProblems("spec.replicas", valueAt(object, "spec", "replicas")),
        ...(strategy?.problems(objectAt(object, "spec", strategy.name), `spec.${strategy.name}`) ?? []),
        ...templateProblems(object, before),
        ...podSpecProblems(valueAt(object, "spec", "template", "spec"), "spec.template.spec"),
        ...restartProblems(object),
      ];
    },
  };
}

/** The given value with defaults added, including inside partly given fields. */
const filled = (given: JsonObject, defaults: JsonObject): JsonObject => ({
  ...given,
  ...Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      isJsonObject(value) ? { ...value, ...objectAt(given, name) } : (given[name] ?? value),
    ]),
  ),
});

/**
 * The pod template in the form to store. A template that an older version stored with fewer defaults is completed
 * before it is compared.
 */
function completeTemplate(object: ApiObject): JsonObject {
  const template = objectAt(object, "spec", "template");
  return { ...template, spec: podSpecDefaults(objectAt(template, "spec")) };
}

/** The problems of a restart policy. Pods of these kinds must run until they are deleted. */
function restartProblems(object: ApiObject): readonly Problem[] {
  const policy = textAt(object, "spec", "template", "spec", "restartPolicy");
  return policy === "Always" ? [] : [unsupportedValue("spec.template.spec.restartPolicy", policy, ["Always"])];
}

function templateProblems(object: ApiObject, before: ApiObject | undefined): readonly Problem[] {
  const selector = valueAt(object, "spec", "selector");
  if (!isJsonObject(selector) || Object.keys(selector).length === 0) return [required("spec.selector")];
  const malformed = selectorProblems(selector, "spec.selector");
  if (malformed.length > 0) return malformed;
  if (before !== undefined && !isSameJson(selector, valueAt(before, "spec", "selector"))) {
    return [invalidValue("spec.selector", selector, "field is immutable")];
  }
  const labels: JsonValue = objectAt(object, "spec", "template", "metadata", "labels");
  const wanted = Object.entries(objectAt(selector, "matchLabels"));
  if (wanted.every(([key, value]) => member(labels, key) === value)) return [];
  return [invalidValue("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")];
}
