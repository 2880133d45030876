import { isJsonObject, itemsAt, type JsonValue, numberAt, textAt, valueAt } from "../../../agent/api/json.ts";
import type { Millis } from "../../../agent/base/clock.ts";
import type { ApiObject } from "../objects/object.ts";
import { age, ageColumn, type Column, column, fewOf, nameColumn, orNone, wideColumn } from "./column.ts";

export const nodeColumns: readonly Column[] = [
  nameColumn,
  column("Status", "Whether the board is ready and takes new pods.", nodeStatus),
  column("Roles", "Roles given by labels.", nodeRoles),
  ageColumn,
  column("Version", "The kubelet's version.", (node) => textAt(node, "status", "nodeInfo", "kubeletVersion")),
  wideColumn("Internal-IP", "Address within the site.", (node) => nodeAddress(node, "InternalIP")),
  wideColumn("External-IP", "Address from outside.", (node) => nodeAddress(node, "ExternalIP")),
  wideColumn("OS-Image", "Operating system.", (node) => nodeInfo(node, "osImage")),
  wideColumn("Kernel-Version", "Kernel and processor.", (node) => {
    const architecture = textAt(node, "status", "nodeInfo", "architecture");
    return nodeInfo(node, "kernelVersion") + (architecture === "" ? "" : ` (${architecture})`);
  }),
  wideColumn("Container-Runtime", "Container runtime.", (node) => nodeInfo(node, "containerRuntimeVersion")),
];

function nodeStatus(node: ApiObject): string {
  const ready = itemsAt(node, "status", "conditions").find((condition) => textAt(condition, "type") === "Ready");
  const word = ready === undefined ? "Unknown" : textAt(ready, "status") === "True" ? "Ready" : "NotReady";
  return valueAt(node, "spec", "unschedulable") === true ? `${word},SchedulingDisabled` : word;
}

function nodeRoles({ metadata }: ApiObject): string {
  const labels = isJsonObject(metadata.labels) ? Object.entries(metadata.labels) : [];
  const roles = labels.flatMap(([key, value]) => {
    const role = /^node-role\.kubernetes\.io\/(.+)$/.exec(key)?.[1];
    if (role !== undefined) return [role];
    return key === "kubernetes.io/role" && value !== "" ? [String(value)] : [];
  });
  return orNone([...new Set(roles)].sort().join(","));
}

const nodeAddress = (node: ApiObject, type: string): string =>
  textAt(
    itemsAt(node, "status", "addresses").find((address) => textAt(address, "type") === type),
    "address",
  ) || "<none>";

const nodeInfo = (node: ApiObject, name: string): string => textAt(node, "status", "nodeInfo", name) || "<unknown>";

export const namespaceColumns: readonly Column[] = [
  nameColumn,
  column("Status", "Active, or Terminating while it is emptied.", (object) => textAt(object, "status", "phase")),
  ageColumn,
];

export const configMapColumns: readonly Column[] = [
  nameColumn,
  column("Data", "Number of entries.", (object) => membersOf(object.data) + membersOf(object.binaryData)),
  ageColumn,
];

export const secretColumns: readonly Column[] = [
  nameColumn,
  column("Type", "The purpose of the data.", (object) => textAt(object, "type")),
  column("Data", "Number of entries.", (object) => membersOf(object.data)),
  ageColumn,
];

const membersOf = (value: JsonValue | undefined): number => (isJsonObject(value) ? Object.keys(value).length : 0);

export const leaseColumns: readonly Column[] = [
  nameColumn,
  column("Holder", "Identity of the holder.", (lease) => textAt(lease, "spec", "holderIdentity")),
  ageColumn,
];

export const eventColumns: readonly Column[] = [
  column("Last Seen", "Time since the last occurrence.", lastSeen),
  column("Type", "Normal or Warning.", (event) => textAt(event, "type")),
  column("Reason", "The reason in one word.", (event) => textAt(event, "reason")),
  column("Object", "The object that it concerns.", (event) => {
    const { kind, name } = {
      kind: textAt(event, "involvedObject", "kind"),
      name: textAt(event, "involvedObject", "name"),
    };
    return name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
  }),
  wideColumn("Subobject", "The part of the object that it concerns.", (event) =>
    textAt(event, "involvedObject", "fieldPath"),
  ),
  wideColumn("Source", "The reporting component.", (event) => {
    const component = textAt(event, "source", "component") || textAt(event, "reportingComponent");
    const host = textAt(event, "source", "host") || textAt(event, "reportingInstance");
    return host === "" ? component : `${component}, ${host}`;
  }),
  column("Message", "A description of the event.", (event) => textAt(event, "message").trim()),
  wideColumn("First Seen", "Time since the first occurrence.", firstSeen),
  wideColumn(
    "Count",
    "Number of occurrences.",
    (event) => numberAt(event, "series", "count") ?? (numberAt(event, "count") || 1),
  ),
  { ...nameColumn, wide: true },
];

function firstSeen(event: ApiObject, wall: Millis): string {
  return age(valueAt(event, "firstTimestamp") ?? valueAt(event, "eventTime"), wall);
}

function lastSeen(event: ApiObject, wall: Millis): string {
  const last = valueAt(event, "series", "lastObservedTime") ?? valueAt(event, "lastTimestamp");
  return typeof last === "string" ? age(last, wall) : firstSeen(event, wall);
}

export const serviceColumns: readonly Column[] = [
  nameColumn,
  column("Type", "How the service is exposed.", (service) => textAt(service, "spec", "type")),
  column("Cluster-IP", "Address within the site.", (service) => orNone(textAt(service, "spec", "clusterIP"))),
  column("External-IP", "Addresses from outside.", externalIp),
  column("Port(s)", "Ports it listens on.", (service) => {
    const ports = itemsAt(service, "spec", "ports").map((port) => {
      const outside = numberAt(port, "nodePort") ?? 0;
      return `${numberAt(port, "port") ?? 0}${outside > 0 ? `:${outside}` : ""}/${textAt(port, "protocol")}`;
    });
    return orNone(ports.join(","));
  }),
  ageColumn,
  wideColumn("Selector", "Labels of its pods.", (service) => labelsText(valueAt(service, "spec", "selector"))),
];

function externalIp(service: ApiObject): string {
  const given = itemsAt(service, "spec", "externalIPs").filter((ip) => typeof ip === "string");
  switch (textAt(service, "spec", "type")) {
    case "ExternalName":
      return textAt(service, "spec", "externalName");
    case "LoadBalancer": {
      const ingress = itemsAt(service, "status", "loadBalancer", "ingress");
      const ips = ingress.map((entry) => textAt(entry, "ip") || textAt(entry, "hostname"));
      return [...ips, ...given].join(",") || "<pending>";
    }
    default:
      return orNone(given.join(","));
  }
}

export const labelsText = (labels: JsonValue | undefined): string =>
  orNone(
    isJsonObject(labels)
      ? Object.entries(labels)
          .map(([key, value]) => `${key}=${String(value)}`)
          .sort()
          .join(",")
      : "",
  );

export const endpointsColumns: readonly Column[] = [
  nameColumn,
  column("Endpoints", "Addresses and ports that are ready.", (endpoints) => {
    const addresses = itemsAt(endpoints, "subsets").flatMap((subset) => {
      const ips = itemsAt(subset, "addresses").map((address) => textAt(address, "ip"));
      const ports = itemsAt(subset, "ports").map((port) => numberAt(port, "port") ?? 0);
      return ports.length === 0 ? ips : ports.flatMap((port) => ips.map((ip) => hostPort(ip, port)));
    });
    return fewOf(addresses, "<none>");
  }),
  ageColumn,
];

const hostPort = (ip: string, port: number): string => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`);

export const endpointSliceColumns: readonly Column[] = [
  nameColumn,
  column("AddressType", "Kind of its addresses.", (slice) => textAt(slice, "addressType")),
  column("Ports", "Ports of its endpoints.", (slice) =>
    fewOf(
      itemsAt(slice, "ports").map((port) => String(numberAt(port, "port") ?? (textAt(port, "name") || "*"))),
      "<unset>",
    ),
  ),
  column("Endpoints", "Addresses of its endpoints.", (slice) =>
    fewOf(
      itemsAt(slice, "endpoints").flatMap((endpoint) => itemsAt(endpoint, "addresses").map(String)),
      "<unset>",
    ),
  ),
  ageColumn,
];
