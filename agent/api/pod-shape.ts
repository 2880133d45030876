import {
  areOptionalItems,
  areOptionalStrings,
  areTexts,
  type Fields,
  isAbsent,
  isFields,
  isOptional,
  isText,
  keepConditions,
  keepItems,
  keepOnly,
  keepStrings,
  section,
} from "./shape-rules.ts";

/** A Pod that would seem to tolerate nothing, or to fit anywhere, is refused: see `ShapeCheck`. */
export function checkPod(pod: Fields): string | undefined {
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

/** Checks the spec of a Pod or a pod template. Returns the name of the unusable field and what is wrong with it. */
export function checkPodSpec(spec: Fields): string | undefined {
  if (!areOptionalItems(spec, "tolerations", isToleration)) return "tolerations is not a list of tolerations";
  if (!areOptionalStrings(spec, "nodeSelector")) return "nodeSelector is not a map of strings";
  if (!isAffinity(spec)) return "affinity is no affinity";
  for (const name of ["hostname", "subdomain", "restartPolicy", "schedulerName"]) keepOnly(spec, name, "string");
  keepOnly(spec, "hostNetwork", "boolean");
  keepQuantities(spec, "overhead");
  keepRequests(spec);
  keepItems(spec, "schedulingGates", ({ name }) => isText(name));
  keepItems(spec, "containers", isContainer);
  keepItems(spec, "initContainers", isContainer);
  return undefined;
}

const isToleration = (toleration: Fields): boolean =>
  ["key", "operator", "value", "effect"].every((name) => isOptional(toleration, name, "string")) &&
  isOptional(toleration, "tolerationSeconds", "number");

/** Checks only the part that restricts the boards of a pod. */
function isAffinity(spec: Fields): boolean {
  if (isAbsent(spec, "affinity")) return true;
  const { affinity } = spec;
  if (!isFields(affinity) || isAbsent(affinity, "nodeAffinity")) return isFields(affinity);
  const { nodeAffinity } = affinity;
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  if (!isFields(nodeAffinity) || isAbsent(nodeAffinity, required)) return isFields(nodeAffinity);
  const selector = nodeAffinity[required];
  return isFields(selector) && areOptionalItems(selector, "nodeSelectorTerms", isTerm);
}

const isTerm = (term: Fields): boolean =>
  ["matchExpressions", "matchFields"].every((name) => areOptionalItems(term, name, isExpression));

const isExpression = (expression: Fields): boolean =>
  isText(expression.key) &&
  isText(expression.operator) &&
  (isAbsent(expression, "values") || isListOfStrings(expression.values));

/** A label's value may be empty. */
const isListOfStrings = (value: unknown): boolean =>
  areTexts(value) || (Array.isArray(value) && value.every((one) => typeof one === "string"));

function isContainer(container: Fields): boolean {
  keepOnly(container, "restartPolicy", "string");
  keepRequests(container);
  keepItems(container, "ports", (port) => {
    for (const name of ["name", "protocol", "hostIP"]) keepOnly(port, name, "string");
    keepOnly(port, "hostPort", "number");
    return typeof port.containerPort === "number";
  });
  return isText(container.name);
}

function keepRequests(owner: Fields): void {
  const resources = section(owner, "resources");
  if (resources) keepQuantities(resources, "requests");
}

/** A quantity may be a JSON number; it is converted to text. */
function keepQuantities(owner: Fields, name: string): void {
  const quantities = owner[name];
  if (isFields(quantities)) {
    for (const [resource, amount] of Object.entries(quantities)) {
      if (typeof amount === "number") quantities[resource] = String(amount);
    }
  }
  keepStrings(owner, name);
}
