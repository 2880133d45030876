import { isJsonObject, itemsAt, type JsonValue, numberAt, textAt, valueAt } from "../../../agent/api/json.ts";
import type { ApiObject } from "../objects/object.ts";
import { ageColumn, type Column, column, countColumn, nameColumn, orNone, wideColumn } from "./column.ts";
import { labelsText } from "./core.ts";

const count = (object: ApiObject, ...path: readonly string[]): number => numberAt(object, ...path) ?? 0;

const ofContainers =
  (name: "name" | "image") =>
  (object: ApiObject): string =>
    itemsAt(object, "spec", "template", "spec", "containers")
      .map((container) => textAt(container, name))
      .join(",");

const templateColumns: readonly Column[] = [
  wideColumn("Containers", "Names of its containers.", ofContainers("name")),
  wideColumn("Images", "Images of its containers.", ofContainers("image")),
  wideColumn("Selector", "Labels of its pods.", (object) => selectorText(valueAt(object, "spec", "selector"))),
];

function selectorText(selector: JsonValue | undefined): string {
  const equal = isJsonObject(valueAt(selector, "matchLabels")) ? labelsText(valueAt(selector, "matchLabels")) : "";
  const expressions = itemsAt(selector, "matchExpressions").map((expression) => {
    const [key, values] = [textAt(expression, "key"), itemsAt(expression, "values").join(",")];
    switch (textAt(expression, "operator")) {
      case "In":
        return `${key} in (${values})`;
      case "NotIn":
        return `${key} notin (${values})`;
      case "Exists":
        return key;
      default:
        return `!${key}`;
    }
  });
  return orNone([equal, ...expressions].filter((part) => part !== "" && part !== "<none>").join(","));
}

export const daemonSetColumns: readonly Column[] = [
  nameColumn,
  countColumn("Desired", "Boards that should run it.", (set) => count(set, "status", "desiredNumberScheduled")),
  countColumn("Current", "Boards that have one of its pods.", (set) => count(set, "status", "currentNumberScheduled")),
  countColumn("Ready", "Boards on which it is ready.", (set) => count(set, "status", "numberReady")),
  countColumn("Up-to-date", "Boards that run its newest template.", (set) =>
    count(set, "status", "updatedNumberScheduled"),
  ),
  countColumn("Available", "Boards on which it is available.", (set) => count(set, "status", "numberAvailable")),
  column("Node Selector", "Labels of the boards that it selects.", (set) =>
    labelsText(valueAt(set, "spec", "template", "spec", "nodeSelector")),
  ),
  ageColumn,
  ...templateColumns,
];

export const replicaSetColumns: readonly Column[] = [
  nameColumn,
  countColumn("Desired", "Pods it should have.", (set) => count(set, "spec", "replicas")),
  countColumn("Current", "Pods it has.", (set) => count(set, "status", "replicas")),
  countColumn("Ready", "Pods that are ready.", (set) => count(set, "status", "readyReplicas")),
  ageColumn,
  ...templateColumns,
];

export const deploymentColumns: readonly Column[] = [
  nameColumn,
  column(
    "Ready",
    "Ready pods out of the desired number.",
    (object) => `${count(object, "status", "readyReplicas")}/${count(object, "spec", "replicas")}`,
  ),
  column("Up-to-date", "Pods of the newest template.", (object) => count(object, "status", "updatedReplicas")),
  column("Available", "Pods that are available.", (object) => count(object, "status", "availableReplicas")),
  ageColumn,
  ...templateColumns,
];

export const controllerRevisionColumns: readonly Column[] = [
  nameColumn,
  column("Controller", "The owner of the stored template.", ({ metadata }) => {
    const owner = itemsAt(metadata, "ownerReferences").find((reference) => valueAt(reference, "controller") === true);
    if (owner === undefined) return "<none>";
    const group = /^(.+)\//.exec(textAt(owner, "apiVersion"))?.[1];
    return `${textAt(owner, "kind").toLowerCase()}${group === undefined ? "" : `.${group}`}/${textAt(owner, "name")}`;
  }),
  column("Revision", "Its number.", (revision) => count(revision, "revision")),
  ageColumn,
];

const amountOf = (object: ApiObject, name: string): JsonValue => {
  const amount = valueAt(object, "spec", name);
  return amount === undefined ? "N/A" : String(amount);
};

export const disruptionBudgetColumns: readonly Column[] = [
  nameColumn,
  column("Min Available", "Number of pods that must remain.", (budget) => amountOf(budget, "minAvailable")),
  column("Max Unavailable", "Number of pods that may be unavailable.", (budget) => amountOf(budget, "maxUnavailable")),
  countColumn("Allowed Disruptions", "Number of pods that may be evicted now.", (budget) =>
    count(budget, "status", "disruptionsAllowed"),
  ),
  ageColumn,
];
