import { isIPv4, isIPv6 } from "node:net";
import { isJsonObject, isSameJson, itemsAt, type JsonObject, type JsonValue, textAt } from "../../../agent/api/json.ts";
import { formProblems } from "../objects/names.ts";
import { invalidValue, type Problem, required, unsupportedValue } from "../requests/problems.ts";
import type { Rules } from "../served-kind.ts";
import { addressProblems, canonical, endpointProblems } from "./addresses.ts";
import { duplicateValue, portProblems, protocols } from "./value-problems.ts";

const withDefaults = (items: readonly JsonValue[], defaults: JsonObject): readonly JsonValue[] =>
  items.map((item) => (isJsonObject(item) ? { ...defaults, ...item } : item));

const withProtocols = (endpoints: JsonObject): JsonObject => ({
  ...endpoints,
  subsets: itemsAt(endpoints, "subsets").map((subset) =>
    isJsonObject(subset) ? { ...subset, ports: withDefaults(itemsAt(subset, "ports"), { protocol: "TCP" }) } : subset,
  ),
});

export const endpointsRules: Rules = {
  created: withProtocols,
  updated: withProtocols,
  // Values accepted earlier remain valid as long as they are unchanged.
  problems: (endpoints, before) =>
    before !== undefined && isSameJson(endpoints.subsets, before.subsets)
      ? []
      : itemsAt(endpoints, "subsets").flatMap((subset, i) => subsetProblems(subset, `subsets[${i}]`)),
};

function subsetProblems(subset: JsonValue, at: string): readonly Problem[] {
  const lists = ["addresses", "notReadyAddresses"];
  const ports = itemsAt(subset, "ports");
  const empty = lists.every((list) => itemsAt(subset, list).length === 0);
  return [
    ...(empty ? [required(at, "must specify `addresses` or `notReadyAddresses`")] : []),
    ...lists.flatMap((list) =>
      itemsAt(subset, list).flatMap((address, i) => ipProblems(`${at}.${list}[${i}].ip`, textAt(address, "ip"))),
    ),
    ...ports.flatMap((port, i) => [
      ...(ports.length > 1 && textAt(port, "name") === "" ? [required(`${at}.ports[${i}].name`)] : []),
      ...portProblems(`${at}.ports[${i}].port`, isJsonObject(port) ? port.port : undefined),
      ...protocolProblems(port, `${at}.ports[${i}]`),
    ]),
  ];
}

function ipProblems(field: string, ip: string): readonly Problem[] {
  const malformed = addressProblems(field, ip);
  return malformed.length > 0 ? malformed : endpointProblems(field, ip);
}

function protocolProblems(port: JsonValue, at: string): readonly Problem[] {
  const protocol = textAt(port, "protocol");
  return protocols.includes(protocol) ? [] : [unsupportedValue(`${at}.protocol`, protocol, protocols)];
}

const sliceDefaults = (slice: JsonObject): JsonObject => ({
  ...slice,
  endpoints: withDefaults(itemsAt(slice, "endpoints"), { conditions: {} }),
  ports: withDefaults(itemsAt(slice, "ports"), { name: "", protocol: "TCP" }),
});

const addressTypes = ["FQDN", "IPv4", "IPv6"];

export const endpointSliceRules: Rules = {
  created: sliceDefaults,
  updated: sliceDefaults,
  problems: (slice, before) => {
    const type = textAt(slice, "addressType");
    const ports = itemsAt(slice, "ports");
    const untouched = before !== undefined && isSameJson(slice.endpoints, before.endpoints);
    const moved = before !== undefined && type !== textAt(before, "addressType");
    return [
      ...(type === "" ? [required("addressType")] : []),
      ...(type === "" || addressTypes.includes(type) ? [] : [unsupportedValue("addressType", type, addressTypes)]),
      ...ports.flatMap((port, i) => [
        ...(ports.findIndex((other) => textAt(other, "name") === textAt(port, "name")) < i
          ? [duplicateValue(`ports[${i}].name`, textAt(port, "name"))]
          : []),
        ...protocolProblems(port, `ports[${i}]`),
      ]),
      ...(untouched
        ? []
        : itemsAt(slice, "endpoints").flatMap((endpoint, i) =>
            addressesProblems(itemsAt(endpoint, "addresses"), type, `endpoints[${i}].addresses`),
          )),
      ...(moved ? [invalidValue("addressType", type, "field is immutable")] : []),
    ];
  },
};

function addressesProblems(addresses: readonly JsonValue[], type: string, at: string): readonly Problem[] {
  if (addresses.length === 0) return [required(at, "must contain at least 1 address")];
  return addresses.flatMap((item, i): readonly Problem[] => {
    const [field, address] = [`${at}[${i}]`, String(item)];
    switch (type) {
      case "IPv4":
        return familyProblems(at, field, address, isIPv4);
      case "IPv6": {
        const problems = familyProblems(at, field, address, isIPv6);
        if (problems.length > 0 || canonical(address) === address) return problems;
        return [invalidValue(field, address, `must be in canonical form ("${canonical(address)}")`)];
      }
      case "FQDN":
        return domainProblems(field, address);
      default:
        return [];
    }
  });
}

/** The problems of an address. If it belongs to the other family, the message names the list, as on the real server. */
function familyProblems(
  list: string,
  field: string,
  address: string,
  fits: (address: string) => boolean,
): readonly Problem[] {
  const problems = ipProblems(field, address);
  if (problems.length > 0 || fits(address)) return problems;
  return [invalidValue(list, address, `must be an ${fits === isIPv4 ? "IPv4" : "IPv6"} address`)];
}

function domainProblems(field: string, name: string): readonly Problem[] {
  const malformed = formProblems(field, name.replace(/\.$/, ""), "subdomain");
  if (malformed.length > 0 || name.includes(".")) return malformed;
  return [invalidValue(field, name, "should be a domain with at least two segments separated by dots")];
}
