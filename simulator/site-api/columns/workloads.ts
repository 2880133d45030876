import { isJsonObject, itemsAt, type JsonValue, numberAt, textAt, valueAt } from "../../../agent/api/json.ts";
import type { ApiObject } from "../object.ts";
import { ageColumn, type Column, column, countColumn, nameColumn, orNone, wideColumn } from "./column.ts";
import { labelsText } from "./core.ts";

const count = (object: ApiObject, ...path: readonly string[]): number => numberAt(object, ...path) ?? 0;

/** Of what makes pods of a template; `path`: where its template and its selector lie. */
export function templateColumnsAt(...path: readonly string[]): readonly Column[] {
  const ofContainers =
    (name: "name" | "image") =>
    (object: ApiObject): string =>
      itemsAt(object, ...path, "template", "spec", "containers")
        .map((container) => textAt(container, name))
        .join(",");
  return [
    wideColumn("Containers", "Names of its containers.", ofContainers("name")),
    wideColumn("Images", "What its containers run.", ofContainers("image")),
    wideColumn("Selector", "Labels of its pods.", (object) => selectorText(valueAt(object, ...path, "selector"))),
  ];
}

const templateColumns = templateColumnsAt("spec");

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
  countColumn("Current", "Boards that have a pod of it.", (set) => count(set, "status", "currentNumberScheduled")),
  countColumn("Ready", "Boards on which it is ready.", (set) => count(set, "status", "numberReady")),
  countColumn("Up-to-date", "Boards that run its newest template.", (set) =>
    count(set, "status", "updatedNumberScheduled"),
  ),
  countColumn("Available", "Boards on which it is available.", (set) => count(set, "status", "numberAvailable")),
  column("Node Selector", "Labels of the boards it wants.", (set) =>
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

const readyColumn: Column = column(
  "Ready",
  "Pods that are ready, of those wished for.",
  (object) => `${count(object, "status", "readyReplicas")}/${count(object, "spec", "replicas")}`,
);

export const statefulSetColumns: readonly Column[] = [
  nameColumn,
  readyColumn,
  ageColumn,
  ...templateColumns.slice(0, 2),
];

export const deploymentColumns: readonly Column[] = [
  nameColumn,
  readyColumn,
  column("Up-to-date", "Pods of the newest template.", (object) => count(object, "status", "updatedReplicas")),
  column("Available", "Pods that are available.", (object) => count(object, "status", "availableReplicas")),
  ageColumn,
  ...templateColumns,
];

export const controllerRevisionColumns: readonly Column[] = [
  nameColumn,
  column("Controller", "Whose template it keeps.", ({ metadata }) => {
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
  column("Min Available", "How many pods must stay.", (budget) => amountOf(budget, "minAvailable")),
  column("Max Unavailable", "How many pods may be missing.", (budget) => amountOf(budget, "maxUnavailable")),
  countColumn("Allowed Disruptions", "How many may be evicted now.", (budget) =>
    count(budget, "status", "disruptionsAllowed"),
  ),
  ageColumn,
];
