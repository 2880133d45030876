import type { Pod, Service } from "../../api/core.ts";
import { boardOf, isTerminating } from "../../api/pods.ts";
import { mapInSteps, type Steps } from "../../base/steps.ts";
import { addressesOf, hostnameOf } from "../service/eligible.ts";
import { type Family, familyOf } from "../service/ip.ts";
import { offeredBy, targetPortOf } from "../service/target-port.ts";
import type { SliceEndpoint, SlicePort } from "../slices/slice.ts";

/** A pod as an endpoint of a service, for one address family; undefined if it has no address of that family. */
export function endpointOf(
  pod: Pod,
  service: Service,
  { family, zone, isReady }: { readonly family: Family; readonly zone: string | undefined; readonly isReady: boolean },
): SliceEndpoint | undefined {
  const addresses = addressesOf(pod).flatMap((address) => (address.family === family ? [address.text] : []));
  if (addresses.length === 0) return undefined;
  const { namespace = "", name, uid } = pod.metadata;
  const terminating = isTerminating(pod);
  // A terminating pod is not ready, although it may still serve, unless the service also publishes unready pods.
  const ready = service.spec?.publishNotReadyAddresses === true || (isReady && !terminating);
  const [board, hostname] = [boardOf(pod), hostnameOf(pod, service)];
  return {
    addresses: addresses.sort(),
    conditions: { ready, serving: isReady, terminating },
    ...(hostname !== undefined && { hostname }),
    ...(board !== undefined && { nodeName: board }),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(zone !== undefined && { zone }),
  };
}

/** The ports of a service resolved on this pod; named ports that the pod lacks are left out. */
export function* slicePortsOf(pod: Pod, { spec }: Service): Steps<readonly SlicePort[]> {
  const offered = offeredBy(pod);
  const ports = yield* mapInSteps(spec?.ports ?? [], (port) => {
    const number = targetPortOf(offered, port);
    if (number === undefined) return undefined;
    const { name = "", protocol = "TCP", appProtocol } = port;
    return { name, port: number, protocol, ...(appProtocol !== undefined && { appProtocol }) };
  });
  return ports.filter((port) => port !== undefined);
}

/**
 * The address families of a service; each has its own slices. If an old API server has set none, the family of the
 * cluster IP is used. Without a cluster IP, both families are used, as in kube-controller-manager, so that no slice is
 * removed because of its family.
 */
export function familiesOf({ spec }: Service): readonly Family[] {
  const named = (spec?.ipFamilies ?? []).filter((family): family is Family => family === "IPv4" || family === "IPv6");
  if (named.length > 0) return [...new Set(named)];
  const clusterIp = spec?.clusterIP ?? "";
  return clusterIp === "" || clusterIp === "None" ? ["IPv4", "IPv6"] : [familyOf(clusterIp)];
}
