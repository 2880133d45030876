import type { Pod, Service } from "../../api/core.ts";
import { boardOf, isTerminating } from "../../api/pods.ts";
import { mapped, type Steps } from "../../base/steps.ts";
import { addressesOf, hostnameOf } from "../service/eligible.ts";
import { type Family, familyOf } from "../service/ip.ts";
import { targetPortOf } from "../service/target-port.ts";
import type { SliceEndpoint, SlicePort } from "../slices/slice.ts";

/** A pod as an endpoint of a service, for one address type; `undefined`: it has no address of that type. */
export function endpointOf(
  pod: Pod,
  service: Service,
  { family, zone, isReady }: { readonly family: Family; readonly zone: string | undefined; readonly isReady: boolean },
): SliceEndpoint | undefined {
  const addresses = addressesOf(pod).flatMap((address) => (address.family === family ? [address.text] : []));
  if (addresses.length === 0) return undefined;
  const { namespace = "", name, uid } = pod.metadata;
  const terminating = isTerminating(pod);
  // Who is on its way out is not ready, though it may serve on; unless the service wants all of them.
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

/** The ports of a service as they are on this pod; a name that the pod does not know is left out. */
export function* slicePortsOf(pod: Pod, { spec }: Service): Steps<readonly SlicePort[]> {
  const offered = yield* mapped(spec?.ports ?? [], (port) => {
    const number = targetPortOf(pod, port);
    if (number === undefined) return undefined;
    const { name = "", protocol = "TCP", appProtocol } = port;
    return { name, port: number, protocol, ...(appProtocol !== undefined && { appProtocol }) };
  });
  return offered.filter((port) => port !== undefined);
}

/**
 * One set of slices for each family of the service. Where an old API server says none it is that of the cluster IP, and
 * both for a headless service: as in kube-controller-manager nothing is taken away until it is known.
 */
export function familiesOf({ spec }: Service): readonly Family[] {
  const named = (spec?.ipFamilies ?? []).filter((family): family is Family => family === "IPv4" || family === "IPv6");
  if (named.length > 0) return [...new Set(named)];
  const clusterIp = spec?.clusterIP ?? "";
  return clusterIp === "" || clusterIp === "None" ? ["IPv4", "IPv6"] : [familyOf(clusterIp)];
}
