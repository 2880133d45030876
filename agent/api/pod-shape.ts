import { isRawInteger } from "./exact-integers.ts";
import {
  areOptionalItems,
  areOptionalStrings,
  areStrings,
  isAbsent,
  isFields,
  isObjectName,
  isOptional,
  isText,
  keepConditions,
  keepItems,
  keepOnly,
  keepStrings,
  type ParsedFields,
  section,
} from "./shape-rules.ts";

/**
 * Refuses a Pod with malformed tolerations or placement (see `ShapeCheck`), because without those fields it would seem
 * to tolerate nothing, or to fit on any board.
 */
export function checkPod(pod: ParsedFields): string | undefined {
  const spec = section(pod, "spec");
  const status = section(pod, "status");
  if (spec) {
    if (!isOptional(spec, "nodeName", "string")) return "spec.nodeName is not a string";
    const why = checkPodSpec(spec);
    if (why !== undefined) return `spec.${why}`;
    keepOnly(spec, "terminationGracePeriodSeconds", "number");
  }
  if (status) {
    if (!isOptional(status, "phase", "string")) return "status.phase is not a string";
    keepOnly(status, "reason", "string");
    keepOnly(status, "podIP", "string");
    keepItems(status, "podIPs", ({ ip }) => isText(ip));
    keepConditions(status);
  }
  return undefined;
}

/** Checks the spec of a Pod or a pod template. Returns the name of an unusable field and what is wrong with it. */
export function checkPodSpec(spec: ParsedFields): string | undefined {
  if (!areOptionalItems(spec, "tolerations", isToleration)) return "tolerations is not a list of tolerations";
  if (!areOptionalStrings(spec, "nodeSelector")) return "nodeSelector is not a map of strings";
  if (!isAffinity(spec)) return "affinity is not an affinity";
  for (const name of ["hostname", "subdomain", "restartPolicy", "schedulerName"]) keepOnly(spec, name, "string");
  keepOnly(spec, "hostNetwork", "boolean");
  keepQuantities(spec, "overhead");
  keepRequests(spec);
  keepItems(spec, "schedulingGates", ({ name }) => isText(name));
  keepItems(spec, "volumes", keepClaim);
  keepItems(spec, "containers", isContainer);
  keepItems(spec, "initContainers", isContainer);
  return undefined;
}

const isToleration = (toleration: ParsedFields): boolean =>
  ["key", "operator", "value", "effect"].every((name) => isOptional(toleration, name, "string")) &&
  (isOptional(toleration, "tolerationSeconds", "number") || isRawInteger(toleration.tolerationSeconds));

/** Checks only the required node affinity, because no rule reads any other part of the affinity. */
function isAffinity(spec: ParsedFields): boolean {
  if (isAbsent(spec, "affinity")) return true;
  const { affinity } = spec;
  if (!isFields(affinity) || isAbsent(affinity, "nodeAffinity")) return isFields(affinity);
  const { nodeAffinity } = affinity;
  return isFields(nodeAffinity) && isOptionalSelector(nodeAffinity, "requiredDuringSchedulingIgnoredDuringExecution");
}

/** True if the field is absent or selects Nodes. */
export function isOptionalSelector(owner: ParsedFields, name: string): boolean {
  if (isAbsent(owner, name)) return true;
  const selector = owner[name];
  return isFields(selector) && areOptionalItems(selector, "nodeSelectorTerms", isTerm);
}

const isTerm = (term: ParsedFields): boolean =>
  ["matchExpressions", "matchFields"].every((name) => areOptionalItems(term, name, isExpression));

const isExpression = (expression: ParsedFields): boolean =>
  isText(expression.key) &&
  isText(expression.operator) &&
  (isAbsent(expression, "values") || areStrings(expression.values));

function isContainer(container: ParsedFields): boolean {
  keepOnly(container, "restartPolicy", "string");
  keepRequests(container);
  keepItems(container, "ports", (port) => {
    for (const name of ["name", "protocol", "hostIP"]) keepOnly(port, name, "string");
    keepOnly(port, "hostPort", "number");
    return typeof port.containerPort === "number";
  });
  return isText(container.name);
}

function keepClaim(volume: ParsedFields): boolean {
  const claim = section(volume, "persistentVolumeClaim");
  if (claim && !isObjectName(claim.claimName)) delete volume.persistentVolumeClaim;
  return isText(volume.name);
}

function keepRequests(owner: ParsedFields): void {
  const resources = section(owner, "resources");
  if (resources) keepQuantities(resources, "requests");
}

/** Keeps a map of quantities. JSON numbers, which the API accepts as quantities, become strings. */
function keepQuantities(owner: ParsedFields, name: string): void {
  const quantities = owner[name];
  if (isFields(quantities)) {
    for (const [resource, amount] of Object.entries(quantities)) {
      if (typeof amount === "number") quantities[resource] = String(amount);
    }
  }
  keepStrings(owner, name);
}
