import type { EndpointSlice, Service } from "../../api/core.ts";
import { serviceNameLabel } from "../../api/index-values.ts";
import { headlessLabel, isHeadless } from "../service/eligible.ts";
import type { Family } from "../service/ip.ts";
import { isSameMap, without } from "../service/map-patch.ts";
import { endpointsOf, managedByLabel, portsOf, type SliceContent } from "../slices/slice.ts";

export const controllerName = "endpointslice-controller.k8s.io";
const ownLabels = [serviceNameLabel, managedByLabel, headlessLabel] as const;

/** The labels of a service's slices: those of the service, and our own, which take precedence. */
export const labelsFor = (service: Service): Readonly<Record<string, string>> => ({
  ...without(service.metadata.labels, ...ownLabels),
  ...(isHeadless(service) && { [headlessLabel]: "" }),
  [serviceNameLabel]: service.metadata.name,
  [managedByLabel]: controllerName,
});

/** Whether the service's labels differ from the slice's. Differences only in our own labels do not cause a write. */
export const isRelabelled = (slice: EndpointSlice, service: Service): boolean =>
  !isSameMap(without(slice.metadata.labels, ...ownLabels), without(service.metadata.labels, ...ownLabels));

/** The stored content of a slice. */
export const contentOf = (slice: EndpointSlice): SliceContent => ({
  addressType: slice.addressType === "IPv6" ? "IPv6" : "IPv4",
  ports: portsOf(slice),
  endpoints: endpointsOf(slice),
  labels: slice.metadata.labels ?? {},
});

/** The only slice of a service without endpoints; it is empty. A service always has at least one slice. */
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
