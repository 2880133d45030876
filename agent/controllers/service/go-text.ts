import type { EndpointSlice, Endpoints } from "../../api/core.ts";

/*
 * kube-controller-manager orders the subsets of Endpoints, and the ports of subsets and slices, by a hash of their Go
 * structs as Go prints them. To get the same order, these functions print the same text: types and fields on one line.
 */

export type Subset = NonNullable<Endpoints["subsets"]>[number];
export type SubsetAddress = NonNullable<Subset["addresses"]>[number];
export type SubsetPort = NonNullable<Subset["ports"]>[number];
export type SlicePort = NonNullable<EndpointSlice["ports"]>[number];

export const subsetText = ({ addresses, notReadyAddresses, ports }: Subset): string =>
  `(v1.EndpointSubset){Addresses:${listText("EndpointAddress", addresses?.map(addressText))} ` +
  `NotReadyAddresses:${listText("EndpointAddress", notReadyAddresses?.map(addressText))} ` +
  `Ports:${listText("EndpointPort", ports?.map(portMembers))}}`;

export const portText = (port: SubsetPort): string => `(v1.EndpointPort)${portMembers(port)}`;

export const slicePortText = ({ name, port, protocol, appProtocol }: SlicePort): string =>
  `(v1.EndpointPort){Name:${pointerText("string", name)} Protocol:${pointerText("v1.Protocol", protocol)} ` +
  `Port:${pointerText("int32", port)} AppProtocol:${pointerText("string", appProtocol)}}`;

const portMembers = ({ name = "", port, protocol = "", appProtocol }: SubsetPort): string =>
  `{Name:(string)${name} Port:(int32)${port} Protocol:(v1.Protocol)${protocol} ` +
  `AppProtocol:${pointerText("string", appProtocol)}}`;

const addressText = ({ ip, hostname = "", nodeName, targetRef }: SubsetAddress): string =>
  `{IP:(string)${ip} Hostname:(string)${hostname} NodeName:${pointerText("string", nodeName)} ` +
  `TargetRef:(*v1.ObjectReference)${targetRef === undefined ? "<nil>" : referenceText(targetRef)}}`;

const referenceText = (reference: NonNullable<SubsetAddress["targetRef"]>): string => {
  const { kind = "", namespace = "", name = "", uid = "", apiVersion = "", resourceVersion = "" } = reference;
  return (
    `{Kind:(string)${kind} Namespace:(string)${namespace} Name:(string)${name} UID:(types.UID)${uid} ` +
    `APIVersion:(string)${apiVersion} ResourceVersion:(string)${resourceVersion} ` +
    `FieldPath:(string)${reference.fieldPath ?? ""}}`
  );
};

/** An empty list prints as nil. */
const listText = (type: string, items: readonly string[] | undefined): string =>
  `([]v1.${type})${items === undefined || items.length === 0 ? "<nil>" : `[${items.join(" ")}]`}`;

const pointerText = (type: string, value: string | number | undefined): string => `(*${type})${value ?? "<nil>"}`;
