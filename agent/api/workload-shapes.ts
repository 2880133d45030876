import { isRawInteger } from "./exact-integers.ts";
import { checkPodSpec } from "./pod-shape.ts";
import {
  areOptionalItems,
  areOptionalStrings,
  areStrings,
  hasTooManyLabels,
  isAbsent,
  isFields,
  isOptional,
  isText,
  keepConditions,
  keepItems,
  keepOnly,
  keepStrings,
  keepTexts,
  maxLabels,
  type ParsedFields,
  section,
} from "./shape-rules.ts";

/**
 * Refuses a malformed selector or template, because if parts of it were dropped, different pods would be selected or
 * created.
 */
export function checkDaemonSet(daemonSet: ParsedFields): string | undefined {
  const { spec } = daemonSet;
  if (!isFields(spec)) return "has no spec";
  if (!isLabelSelector(spec.selector)) return "spec.selector is not a label selector";
  if (hasTooManyLabels(spec.selector.matchLabels) || hasTooManyLabels({ ...spec.selector.matchExpressions }))
    return `spec.selector has more than ${maxLabels} labels`;
  const { template } = spec;
  if (!isFields(template) || !isFields(template.spec)) return "has no spec.template";
  const metadata = section(template, "metadata");
  if (metadata && !areOptionalStrings(metadata, "labels"))
    return "spec.template.metadata.labels is not a map of strings";
  if (hasTooManyLabels(metadata?.labels)) return `spec.template has more than ${maxLabels} labels`;
  if (metadata && !areOptionalStrings(metadata, "annotations")) {
    return "spec.template.metadata.annotations is not a map of strings";
  }
  if (!isOptional(template.spec, "nodeName", "string")) return "spec.template.spec.nodeName is not a string";
  const why = checkPodSpec(template.spec);
  if (why !== undefined) return `spec.template.spec.${why}`;
  keepOnly(spec, "minReadySeconds", "number");
  keepOnly(spec, "revisionHistoryLimit", "number");
  const strategy = section(spec, "updateStrategy");
  if (strategy) {
    keepOnly(strategy, "type", "string");
    const rolling = section(strategy, "rollingUpdate");
    if (rolling) for (const name of ["maxUnavailable", "maxSurge"]) keepIntOrString(rolling, name);
  }
  const status = section(daemonSet, "status");
  if (status) {
    for (const name of Object.keys(status)) if (name !== "conditions") keepOnly(status, name, "number");
    keepConditions(status);
  }
  return undefined;
}

export function checkRevision(revision: ParsedFields): string | undefined {
  if (isRawInteger(revision.revision)) revision.revision = Number(revision.revision.rawJSON);
  if (typeof revision.revision !== "number") return "revision is not a number";
  if (!isAbsent(revision, "data") && !isFields(revision.data)) return "data is not an object";
  return undefined;
}

/** Refuses a malformed selector or list of ports, because without it, the Service would lose its endpoints. */
export function checkService(service: ParsedFields): string | undefined {
  const { spec } = service;
  if (!isFields(spec)) return "has no spec";
  if (!areOptionalStrings(spec, "selector")) return "spec.selector is not a map of strings";
  if (hasTooManyLabels(spec.selector)) return `spec.selector has more than ${maxLabels} labels`;
  if (!areOptionalItems(spec, "ports", isServicePort)) return "spec.ports is not a list of ports";
  for (const name of ["type", "clusterIP", "ipFamilyPolicy", "trafficDistribution"]) keepOnly(spec, name, "string");
  keepOnly(spec, "publishNotReadyAddresses", "boolean");
  keepTexts(spec, "clusterIPs");
  keepTexts(spec, "ipFamilies");
  return undefined;
}

function isServicePort(port: ParsedFields): boolean {
  for (const name of ["name", "protocol", "appProtocol"]) keepOnly(port, name, "string");
  keepIntOrString(port, "targetPort");
  return typeof port.port === "number";
}

export function checkEndpoints(endpoints: ParsedFields): string | undefined {
  keepItems(endpoints, "subsets", (subset) => {
    keepItems(subset, "addresses", isAddress);
    keepItems(subset, "notReadyAddresses", isAddress);
    keepItems(subset, "ports", isEndpointPort);
    return true;
  });
  return undefined;
}

function isAddress(address: ParsedFields): boolean {
  keepOnly(address, "hostname", "string");
  keepOnly(address, "nodeName", "string");
  keepStrings(address, "targetRef");
  return isText(address.ip);
}

export function checkEndpointSlice(slice: ParsedFields): string | undefined {
  if (!isText(slice.addressType)) return "has no addressType";
  keepItems(slice, "endpoints", (endpoint) => {
    keepTexts(endpoint, "addresses");
    const conditions = section(endpoint, "conditions");
    if (conditions) for (const name of ["ready", "serving", "terminating"]) keepOnly(conditions, name, "boolean");
    for (const name of ["hostname", "nodeName", "zone"]) keepOnly(endpoint, name, "string");
    keepStrings(endpoint, "targetRef");
    const hints = section(endpoint, "hints");
    if (hints) for (const name of ["forZones", "forNodes"]) keepItems(hints, name, (one) => isText(one.name));
    return Array.isArray(endpoint.addresses);
  });
  keepItems(slice, "ports", isEndpointPort);
  return undefined;
}

function isEndpointPort(port: ParsedFields): boolean {
  for (const name of ["name", "protocol", "appProtocol"]) keepOnly(port, name, "string");
  keepOnly(port, "port", "number");
  return true;
}

const isLabelSelector = (
  selector: unknown,
): selector is ParsedFields & { readonly matchExpressions?: readonly ParsedFields[] } =>
  isFields(selector) &&
  areOptionalStrings(selector, "matchLabels") &&
  areOptionalItems(
    selector,
    "matchExpressions",
    (expression) =>
      isText(expression.key) &&
      isText(expression.operator) &&
      (isAbsent(expression, "values") || areStrings(expression.values)),
  );

function keepIntOrString(owner: ParsedFields, name: string): void {
  if (!isAbsent(owner, name) && typeof owner[name] !== "number") keepOnly(owner, name, "string");
}
