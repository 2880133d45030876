import type { EndpointSlice, Service } from "../../api/core.ts";
import { isHeadless } from "../service/eligible.ts";
import type { Family } from "../service/ip.ts";
import { isSameMap, without } from "../service/map-patch.ts";
import { endpointsOf, managedByLabel, portsOf, type SliceContent, serviceNameLabel } from "../slices/slice.ts";

export const controllerName = "endpointslice-controller.k8s.io";
const headlessLabel = "service.kubernetes.io/headless";
const ours = [serviceNameLabel, managedByLabel, headlessLabel] as const;

/** The labels of the service, but for those that say what a slice is: they are ours. */
export const labelsFor = (service: Service): Readonly<Record<string, string>> => ({
  ...without(service.metadata.labels, ...ours),
  ...(isHeadless(service) && { [headlessLabel]: "" }),
  [serviceNameLabel]: service.metadata.name,
  [managedByLabel]: controllerName,
});

/** What somebody did to our own labels of a slice is no reason to write it. */
export const isRelabelled = (slice: EndpointSlice, service: Service): boolean =>
  !isSameMap(without(slice.metadata.labels, ...ours), without(service.metadata.labels, ...ours));

/** A slice as it is. */
export const contentOf = (slice: EndpointSlice): SliceContent => ({
  addressType: slice.addressType === "IPv6" ? "IPv6" : "IPv4",
  ports: portsOf(slice),
  endpoints: endpointsOf(slice),
  labels: slice.metadata.labels ?? {},
});

/** A service always has a slice: without endpoints it is one that says so. */
export const placeholder = (service: Service, addressType: Family): SliceContent => ({
  addressType,
  ports: [],
  endpoints: [],
  labels: labelsFor(service),
});

export const isPlaceholder = (slice: EndpointSlice, service: Service): boolean =>
  endpointsOf(slice).length === 0 &&
  portsOf(slice).length === 0 &&
  isSameMap(slice.metadata.labels, labelsFor(service));
