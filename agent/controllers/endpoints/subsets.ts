import type { Pod, Service } from "../../api/core.ts";
import { boardOf } from "../../api/pods.ts";
import { mapInSteps, type Steps } from "../../base/steps.ts";
import { addressesOf, hostnameOf, isEligible } from "../service/eligible.ts";
import type { Subset, SubsetAddress, SubsetPort } from "../service/go-text.ts";
import { type Family, familyOf } from "../service/ip.ts";
import { offeredBy, perPod, type ServicePort, targetPortOf } from "../service/target-port.ts";
import { repack } from "./repack.ts";

/**
 * The subsets of a service's Endpoints, not truncated (docs/kubernetes-rules.md#endpoints). `ready`: uids of the ready
 * pods.
 */
export function* subsetsOf(
  service: Service,
  pods: readonly Pod[],
  ready: ReadonlySet<string>,
): Steps<readonly Subset[]> {
  const publishesAll = service.spec?.publishNotReadyAddresses ?? false;
  const portsOn = perPod(service, (pod) => portsOf(pod, service));
  // Pods with the same list of ports share a subset.
  const subsets = new Map<readonly SubsetPort[], { addresses: SubsetAddress[]; notReadyAddresses: SubsetAddress[] }>();
  for (const pod of pods) {
    const address = isEligible(pod, publishesAll) ? addressOf(pod, service) : undefined;
    const ports = address && (yield* portsOn(pod));
    yield;
    if (address === undefined || ports === undefined) continue;
    const subset = subsets.get(ports) ?? { addresses: [], notReadyAddresses: [] };
    subsets.set(ports, subset);
    const isReady = publishesAll || ready.has(pod.metadata.uid);
    subset[isReady ? "addresses" : "notReadyAddresses"].push(address);
  }
  return yield* repack([...subsets].map(([ports, addresses]) => ({ ...addresses, ports })));
}

/** The pod's address of the service's first IP family; undefined if the pod has none. */
function addressOf(pod: Pod, service: Service): SubsetAddress | undefined {
  const family = firstFamily(service, pod);
  const address = addressesOf(pod).find((one) => one.family === family);
  if (address === undefined) return undefined;
  const { namespace = "", name, uid } = pod.metadata;
  const [board, hostname] = [boardOf(pod), hostnameOf(pod, service)];
  return {
    ip: address.text,
    ...(hostname !== undefined && { hostname }),
    ...(board !== undefined && { nodeName: board }),
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}

function firstFamily({ spec }: Service, { status }: Pod): Family {
  const [first] = spec?.ipFamilies ?? [];
  if (first !== undefined) return first === "IPv6" ? "IPv6" : "IPv4";
  const clusterIp = spec?.clusterIP === "None" ? "" : (spec?.clusterIP ?? "");
  return familyOf(clusterIp === "" ? status?.podIP : clusterIp);
}

/** The service's ports that the pod has; undefined if it has none. Empty for a headless service without ports. */
function* portsOf(pod: Pod, { spec }: Service): Steps<readonly SubsetPort[] | undefined> {
  const ports = spec?.ports ?? [];
  if (ports.length === 0) return spec?.clusterIP === "None" ? [] : undefined;
  const offered = offeredBy(pod);
  const resolved = yield* mapInSteps(ports, (port) => {
    const number = targetPortOf(offered, port);
    return number === undefined ? undefined : subsetPort(port, number);
  });
  const found = resolved.filter((port) => port !== undefined);
  return found.length === 0 ? undefined : found;
}

const subsetPort = ({ name, protocol = "TCP", appProtocol }: ServicePort, port: number): SubsetPort => ({
  ...(name !== undefined && name !== "" && { name }),
  port,
  protocol,
  ...(appProtocol !== undefined && { appProtocol }),
});

/** uids of the pods whose addresses are listed as ready. */
export const readyTargets = (subsets: readonly Subset[] | undefined): readonly string[] =>
  (subsets ?? []).flatMap(({ addresses = [] }) => addresses.flatMap(({ targetRef }) => targetRef?.uid ?? []));

/** Whether two lists of subsets are equal; the resourceVersion of the targets is ignored. */
export function* isSameSubsets(a: readonly Subset[], b: readonly Subset[]): Steps<boolean> {
  if (a.length !== b.length) return false;
  for (const [index, subset] of a.entries()) {
    const other = b[index];
    const text = JSON.stringify(plain(subset));
    yield;
    if (other === undefined || text !== JSON.stringify(plain(other))) return false;
    yield;
  }
  return true;
}

/** A subset's fields in a fixed order, with defaults filled in. */
const plain = ({ addresses = [], notReadyAddresses = [], ports = [] }: Subset): unknown => [
  addresses.map(plainAddress),
  notReadyAddresses.map(plainAddress),
  ports.map(({ name = "", port, protocol = "TCP", appProtocol }) => [name, port, protocol, appProtocol ?? null]),
];

const plainAddress = ({ ip, hostname = "", nodeName, targetRef }: SubsetAddress): unknown => [
  ip,
  hostname,
  nodeName ?? null,
  targetRef
    ? [targetRef.kind, targetRef.namespace, targetRef.name, targetRef.uid, targetRef.apiVersion, targetRef.fieldPath]
    : null,
];
