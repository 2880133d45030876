import { isJsonObject, itemsAt, type JsonObject, numberAt, textAt } from "../../agent/api/json.ts";
import { labelSelectorOf, matchesLabels, type WrittenSelector } from "../../agent/api/selectors.ts";
import { timestamp } from "../../agent/api/timestamps.ts";
import type { Site } from "./call.ts";
import { forbidden, internalError, tooManyRequests } from "./failure.ts";
import { selectorOf } from "./kinds/budgets.ts";
import { objectAt } from "./kinds/pods.ts";
import { itemsOf } from "./list.ts";
import type { ApiObject, Entry } from "./object.ts";
import { rangeOf } from "./object-store.ts";
import { budgetsServed } from "./served.ts";
import { isTerminating } from "./termination.ts";
import { storeChange } from "./write.ts";

/** So many evictions may be under way before whoever judges the budget is awaited. */
const mostDisrupted = 2000;
const secondsUntilJudged = 10;

/**
 * Takes an eviction out of the budget that the pod is under, as the kube-apiserver does: the next one sees what this one
 * took, before whoever judges budgets has seen anything. Throws a Failure where the budget does not allow it.
 */
export function takeFromBudget(site: Site, pod: ApiObject, dryRun: boolean): void {
  if (needsNoBudget(pod)) return;
  const budgets = budgetsOf(site, pod);
  const [budget, ...more] = budgets;
  if (budget === undefined) return;
  if (more.length > 0)
    throw internalError("the pod is under more than one disruption budget, and an eviction asks one");
  const status = objectAt(budget.object, "status");
  if (mayGoUnhealthy(pod, budget.object, status)) return;
  const allowed = allowedBy(budget.object, status);
  const disruptedPods = { ...objectAt(status, "disruptedPods"), [pod.metadata.name]: timestamp(site.clock.now()) };
  const taken = { ...budget.object, status: { ...status, disruptionsAllowed: allowed - 1, disruptedPods } };
  storeChange(site, budgetsServed, budget, taken, dryRun);
}

/** It does not run yet, no longer, or is going already: nothing is disrupted. */
const needsNoBudget = (pod: ApiObject): boolean =>
  isTerminating(pod) || ["Pending", "Succeeded", "Failed"].includes(textAt(pod, "status", "phase"));

function budgetsOf({ store }: Site, { metadata }: ApiObject): readonly Entry[] {
  const labels = metadata.labels;
  if (!isJsonObject(labels)) return [];
  const budgets = [...itemsOf(store, rangeOf(budgetsServed, textAt(metadata, "namespace")), store.revision)];
  // The types of both were checked when they were written.
  return budgets.filter(({ object }) => {
    const selector = selectorOf(object);
    if (selector === undefined) return false;
    return matchesLabels(labelSelectorOf(selector as WrittenSelector), labels as Readonly<Record<string, string>>);
  });
}

/** A pod that is not ready serves nobody; it may go where enough others are healthy, or always. */
function mayGoUnhealthy(pod: ApiObject, budget: ApiObject, status: JsonObject): boolean {
  const ready = itemsAt(pod, "status", "conditions").find((one) => textAt(one, "type") === "Ready");
  if (textAt(ready, "status") === "True") return false;
  if (textAt(budget, "spec", "unhealthyPodEvictionPolicy") === "AlwaysAllow") return true;
  const [healthy, desired] = [numberAt(status, "currentHealthy") ?? 0, numberAt(status, "desiredHealthy") ?? 0];
  return desired > 0 && healthy >= desired;
}

/** How many disruptions the budget allows: at least one, or a Failure says why not. */
function allowedBy(budget: ApiObject, status: JsonObject): number {
  const { name, generation } = budget.metadata;
  if ((numberAt(status, "observedGeneration") ?? 0) < Number(generation ?? 0)) {
    throw tooManyRequests(refused, because(`The disruption budget ${name} is still being judged.`), secondsUntilJudged);
  }
  if (Object.keys(objectAt(status, "disruptedPods")).length > mostDisrupted) {
    throw forbidden(budgetsServed, name, "too many evictions are under way: wait until the budget is judged anew");
  }
  const allowed = numberAt(status, "disruptionsAllowed") ?? 0;
  if (allowed > 0) return allowed;
  const [desired, healthy] = [numberAt(status, "desiredHealthy") ?? 0, numberAt(status, "currentHealthy") ?? 0];
  throw tooManyRequests(
    refused,
    because(`The disruption budget ${name} needs ${desired} healthy pods and has ${healthy} currently`),
  );
}

const refused = "Cannot evict pod as it would violate the pod's disruption budget.";

const because = (message: string) => ({ reason: "DisruptionBudget", message });
