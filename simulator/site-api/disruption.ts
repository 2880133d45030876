import { isJsonObject, itemsAt, type JsonObject, numberAt, textAt } from "../../agent/api/json.ts";
import { labelSelectorOf, matchesLabels, type WrittenSelector } from "../../agent/api/selectors.ts";
import { timestamp } from "../../agent/api/timestamps.ts";
import { selectorOf } from "./kinds/budgets.ts";
import { objectAt } from "./kinds/pods.ts";
import type { ApiObject, Entry } from "./objects/object.ts";
import { rangeOf } from "./objects/object-store.ts";
import { isTerminating } from "./objects/termination.ts";
import type { Site } from "./requests/call.ts";
import { forbidden, internalError, tooManyRequests } from "./requests/failure.ts";
import { budgetsServed } from "./served.ts";
import { itemsOf } from "./verbs/list.ts";
import { storeChange } from "./verbs/write.ts";

/** How many of a budget's evictions may be in progress before the disruption controller has processed them. */
const maxDisrupted = 2000;
const secondsUntilJudged = 10;

/**
 * Deducts an eviction from the pod's disruption budget, as the kube-apiserver does, so that the next eviction sees the
 * reduced budget even before the disruption controller has reacted. Throws a Failure if the budget does not allow it.
 */
export function takeFromBudget(site: Site, pod: ApiObject, dryRun: boolean): void {
  if (needsNoBudget(pod)) return;
  const budgets = budgetsOf(site, pod);
  const [budget, ...more] = budgets;
  if (budget === undefined) return;
  if (more.length > 0)
    throw internalError("the pod is under more than one disruption budget, which evictions do not support");
  const status = objectAt(budget.object, "status");
  if (mayGoUnhealthy(pod, budget.object, status)) return;
  const allowed = allowedBy(budget.object, status);
  const disruptedPods = { ...objectAt(status, "disruptedPods"), [pod.metadata.name]: timestamp(site.clock.now()) };
  const taken = { ...budget.object, status: { ...status, disruptionsAllowed: allowed - 1, disruptedPods } };
  storeChange(site, budgetsServed, budget, taken, dryRun);
}

/**
 * Whether the eviction does not disrupt anything, because the pod is not running yet, has finished, or is already
 * terminating.
 */
const needsNoBudget = (pod: ApiObject): boolean =>
  isTerminating(pod) || ["Pending", "Succeeded", "Failed"].includes(textAt(pod, "status", "phase"));

function budgetsOf({ store }: Site, { metadata }: ApiObject): readonly Entry[] {
  const labels = metadata.labels;
  if (!isJsonObject(labels)) return [];
  const budgets = [...itemsOf(store, rangeOf(budgetsServed, textAt(metadata, "namespace")), store.revision)];
  // The types of budget and pod were checked when they were written.
  return budgets.filter(({ object }) => {
    const selector = selectorOf(object);
    if (selector === undefined) return false;
    return matchesLabels(labelSelectorOf(selector as WrittenSelector), labels as Readonly<Record<string, string>>);
  });
}

/**
 * Whether an unready pod, which serves no traffic, may be evicted: depending on its budget's policy, always, or if
 * enough other pods are healthy.
 */
function mayGoUnhealthy(pod: ApiObject, budget: ApiObject, status: JsonObject): boolean {
  const ready = itemsAt(pod, "status", "conditions").find((one) => textAt(one, "type") === "Ready");
  if (textAt(ready, "status") === "True") return false;
  if (textAt(budget, "spec", "unhealthyPodEvictionPolicy") === "AlwaysAllow") return true;
  const [healthy, desired] = [numberAt(status, "currentHealthy") ?? 0, numberAt(status, "desiredHealthy") ?? 0];
  return desired > 0 && healthy >= desired;
}

/** How many disruptions the budget allows: at least one. Throws a Failure with the reason if there are none. */
function allowedBy(budget: ApiObject, status: JsonObject): number {
  const { name, generation } = budget.metadata;
  if ((numberAt(status, "observedGeneration") ?? 0) < Number(generation ?? 0)) {
    throw tooManyRequests(refused, because(`The disruption budget ${name} is still being judged.`), secondsUntilJudged);
  }
  if (Object.keys(objectAt(status, "disruptedPods")).length > maxDisrupted) {
    throw forbidden(budgetsServed, name, "too many evictions are under way: wait until the budget is recalculated");
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
