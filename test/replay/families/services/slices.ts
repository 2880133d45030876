import type { EndpointSlice, Node, Pod, Service } from "../../../../agent/api/core.ts";
import { serviceNameLabel } from "../../../../agent/api/index-values.ts";
import { controlledBy } from "../../../../agent/api/owners.ts";
import { boardOf, isReady } from "../../../../agent/api/pods.ts";
import { services } from "../../../../agent/api/resources.ts";
import { atOnce } from "../../../../agent/base/steps.ts";
import { endingDigits } from "../../../../agent/base/text/ending-digits.ts";
import { controllerName, labelsFor } from "../../../../agent/controllers/endpoint-slice/content.ts";
import { endpointOf, slicePortsOf } from "../../../../agent/controllers/endpoint-slice/endpoint.ts";
import { managedByLabel, type SliceEndpoint } from "../../../../agent/controllers/slices/slice.ts";
import { choice, either, type FormOf, flag, list, map, optional, record, text, whole } from "../../form.ts";
import { MalformedCase } from "../../malformed.ts";
import { keyOfName, labelsForm, placeOf } from "./pods.ts";

export const namesForm = either(
  [
    text({
      about: "One name, or a range of numbered ones.",
      pattern: /^\S+$/,
      takes: "a name, or a range such as p-1..p-62",
      examples: ["a", "p-1..p-62"],
    }),
    list(text({ about: "A name, or a range." }), { about: "Several." }),
  ],
  { about: "Names of pods." },
);

/** "p-1..p-3": p-1, p-2, p-3. */
export function namesFrom(given: FormOf<typeof namesForm>): readonly string[] {
  if (typeof given !== "string") return given.flatMap(namesFrom);
  const dots = given.indexOf("..");
  const [left, right] = [given.slice(0, Math.max(0, dots)), given.slice(dots + 2)];
  const [from, to] = [endingDigits(left), endingDigits(right)];
  if (from === "" || to === "") return [given];
  const [prefix, other] = [left.slice(0, -from.length), right.slice(0, -to.length)];
  const [first, last] = [Number(from), Number(to)];
  if (other !== prefix && other !== "")
    throw new MalformedCase([`${given} is no range: ${prefix} and ${other} differ`]);
  if (last - first > 5000) throw new MalformedCase([`${given} is a range of more than 5000`]);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => `${prefix}${first + index}`);
}

export const sliceForm = record(
  {
    name: text({ about: "Its name, with its namespace in front if that is not default.", examples: ["web-1"] }),
    service: optional(text({ about: "The service that it belongs to; the only one by default." })),
    pods: optional(namesForm),
    strangers: optional(
      list(text({ about: "An IP." }), { about: "Addresses in it that no pod has, in front of the others." }),
    ),
    port: optional(
      whole({ about: "Its port, in place of those of the service; without a name, TCP.", min: 1, max: 65_535 }),
    ),
    noPorts: optional(flag({ about: "It has no ports." })),
    family: optional(choice(["IPv4", "IPv6"], { about: "IPv4 by default." })),
    labels: optional(labelsForm("Its labels besides those of the controller; those of the service by default.")),
    managedBy: optional(text({ about: "The controller that manages it; this one by default." })),
    ownerUid: optional(text({ about: "The uid of the service that owns it; that of the service by default." })),
    generation: optional(whole({ about: "metadata.generation; 1 by default.", min: 1 })),
    zoneHints: optional(
      map(text({ about: "A zone." }), { about: "Hints that are there already: the zone by the name of the pod." }),
    ),
    terminating: optional(flag({ about: "Somebody deleted it, and it is on its way out." })),
  },
  { about: "A slice that is there already. Its endpoints say of the pods what the controller would write now." },
);

export type GivenSlice = FormOf<typeof sliceForm>;

export interface Around {
  readonly service: Service;
  pod(key: string): Pod;
  node(name: string): Node | undefined;
}

export function sliceFrom(given: GivenSlice, { service, pod, node }: Around, stamp: string): object {
  const [namespace, name] = placeOf(given.name);
  const { family = "IPv4", strangers = [] } = given;
  const pods = namesFrom(given.pods ?? []).map((one) => pod(keyOfName(one)));
  const endpoints = pods.map((one): SliceEndpoint => {
    const zone = node(boardOf(one) ?? "")?.metadata.labels?.["topology.kubernetes.io/zone"];
    const found = endpointOf(one, service, { family, zone, isReady: isReady(one) });
    if (found === undefined) throw new MalformedCase([`${one.metadata.name} has no address for slice ${given.name}`]);
    const hint = given.zoneHints?.get(one.metadata.name);
    return hint === undefined ? found : { ...found, hints: { forZones: [{ name: hint }] } };
  });
  const [first] = pods;
  const usual = first ? atOnce(slicePortsOf(first, service)) : [];
  const slice: Omit<EndpointSlice, "metadata"> = {
    addressType: family,
    endpoints: [...strangers.map((ip) => ({ addresses: [ip], conditions: { ready: true } })), ...endpoints],
    ports: given.noPorts ? [] : given.port === undefined ? usual : [{ name: "", port: given.port, protocol: "TCP" }],
  };
  const uid = given.ownerUid ?? service.metadata.uid;
  const own = { [serviceNameLabel]: service.metadata.name, [managedByLabel]: given.managedBy ?? controllerName };
  return {
    ...slice,
    metadata: {
      name,
      namespace,
      uid: `uid-${given.name}`,
      generation: given.generation ?? 1,
      labels: { ...(given.labels ? Object.fromEntries(given.labels) : labelsFor(service)), ...own },
      ownerReferences: [{ ...controlledBy(services, service), uid }],
      ...(given.terminating && { deletionTimestamp: stamp }),
    },
  };
}
