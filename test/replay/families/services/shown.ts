import type { EndpointSlice, Endpoints } from "../../../../agent/api/core.ts";
import { serviceNameLabel } from "../../../../agent/api/index-values.ts";
import { keyOf } from "../../../../agent/api/meta.ts";
import type { Subset, SubsetAddress } from "../../../../agent/controllers/service/go-text.ts";
import { triggerAnnotation } from "../../../../agent/controllers/service/trigger-time.ts";
import { endpointsOf, portsOf, type SliceEndpoint } from "../../../../agent/controllers/slices/slice.ts";
import type { JsonSchema } from "../../form.ts";
import type { Outcome } from "../../outcome.ts";
import type { CaseTime } from "../../site/case-time.ts";

interface Port {
  readonly name?: string;
  readonly port?: number;
  readonly protocol?: string;
  readonly appProtocol?: string;
}

const portText = ({ name = "", port, protocol = "TCP", appProtocol }: Port): string =>
  `${name}:${port}/${protocol}${appProtocol === undefined ? "" : `/${appProtocol}`}`;

/** By the name of its target, or by its IP. */
const targetOf = ({ ip, targetRef }: SubsetAddress): string => targetRef?.name ?? ip;

export const showEndpoints = (all: readonly Endpoints[], time: CaseTime): Outcome =>
  Object.fromEntries(all.map((endpoints) => [keyOf(endpoints), showOne(endpoints, time)]));

function showOne({ metadata, subsets = [] }: Endpoints, time: CaseTime): object {
  const { [triggerAnnotation]: trigger, ...annotations } = metadata.annotations ?? {};
  return {
    subsets: subsets.map(showSubset),
    ready: subsets.reduce((sum, { addresses = [] }) => sum + addresses.length, 0),
    notReady: subsets.reduce((sum, { notReadyAddresses = [] }) => sum + notReadyAddresses.length, 0),
    labels: metadata.labels ?? {},
    annotations,
    triggerMs: time.msOf(trigger) ?? null,
  };
}

const showSubset = ({ addresses = [], notReadyAddresses = [], ports = [] }: Subset): object => ({
  ready: addresses.map(targetOf),
  notReady: notReadyAddresses.map(targetOf),
  ports: ports.length === 0 ? null : ports.map(portText),
  ips: [...addresses, ...notReadyAddresses].map(({ ip }) => ip),
  hostnames: [...addresses, ...notReadyAddresses].flatMap(({ hostname }) => hostname ?? []),
});

/** By service, each list sorted by the names of the slices. */
export function showSlices(all: readonly EndpointSlice[], time: CaseTime): Outcome {
  const byService = new Map<string, object[]>();
  for (const slice of [...all].sort(byName)) {
    const { namespace, labels = {} } = slice.metadata;
    const service = `${namespace}/${labels[serviceNameLabel] ?? ""}`;
    byService.set(service, [...(byService.get(service) ?? []), showSlice(slice, time)]);
  }
  return Object.fromEntries(byService);
}

/** web-10 after web-9. */
const byName = (a: EndpointSlice, b: EndpointSlice): number =>
  a.metadata.name.localeCompare(b.metadata.name, "en", { numeric: true });

export const sizesOf = (slices: Outcome): Outcome =>
  Object.fromEntries(
    Object.entries(slices).map(([service, list]) => [
      service,
      (list as readonly { readonly endpoints: readonly unknown[] }[])
        .map(({ endpoints }) => endpoints.length)
        .sort((a, b) => b - a),
    ]),
  );

function showSlice(slice: EndpointSlice, time: CaseTime): object {
  const { name, labels = {}, annotations = {}, ownerReferences = [] } = slice.metadata;
  const { [triggerAnnotation]: trigger, ...others } = annotations;
  return {
    name,
    family: slice.addressType,
    ports: portsOf(slice).map(portText),
    endpoints: endpointsOf(slice).map(showEndpoint),
    labels,
    annotations: others,
    owners: ownerReferences.map(({ kind, name: owner, uid }) => `${kind}/${owner}/${uid}`),
    triggerMs: time.msOf(trigger) ?? null,
  };
}

const showEndpoint = ({ addresses, conditions = {}, hints, ...rest }: SliceEndpoint): object => ({
  pod: rest.targetRef?.name,
  addresses,
  ready: conditions.ready,
  serving: conditions.serving,
  terminating: conditions.terminating,
  hostname: rest.hostname,
  node: rest.nodeName,
  zone: rest.zone,
  forZones: hints?.forZones?.map(({ name }) => name),
  forNodes: hints?.forNodes?.map(({ name }) => name),
});

const texts = (description: string): JsonSchema => ({ type: "array", items: { type: "string" }, description });
const labels = { type: "object", description: "All labels." };
const annotations = { type: "object", description: "All annotations but the trigger time." };
const triggerMs = {
  type: ["number", "null"],
  description: "The annotation endpoints.kubernetes.io/last-change-trigger-time, in ms of the case; null: absent.",
};

export const endpointsSchema: JsonSchema = {
  type: "object",
  description: 'The Endpoints by "namespace/name".',
  additionalProperties: {
    type: "object",
    properties: {
      subsets: {
        type: "array",
        description: "In the order in which they were written.",
        items: {
          type: "object",
          properties: {
            ready: texts("The pods of the ready addresses, by the order of their IPs (as texts)."),
            notReady: texts("The pods of the others, likewise."),
            ports: { ...texts('As "name:number/protocol", with "/appProtocol" behind.'), type: ["array", "null"] },
            ips: texts("The IPs of the ready addresses, then of the others."),
            hostnames: texts("The hostnames that are set, likewise."),
          },
        },
      },
      ready: { type: "integer", description: "Ready addresses of all subsets." },
      notReady: { type: "integer", description: "The others." },
      labels,
      annotations,
      triggerMs,
    },
  },
};

const flag = (description: string): JsonSchema => ({ type: "boolean", description });

export const slicesSchema: JsonSchema = {
  type: "object",
  description: 'The EndpointSlices by the service ("namespace/name") that they belong to, sorted by name.',
  additionalProperties: {
    type: "array",
    items: {
      type: "object",
      properties: {
        name: { type: "string", description: 'New ones are called "SERVICE-1", "SERVICE-2", ... in order.' },
        family: { type: "string" },
        ports: texts('As "name:number/protocol", with "/appProtocol" behind.'),
        endpoints: {
          type: "array",
          items: {
            type: "object",
            properties: {
              pod: { type: "string" },
              addresses: texts("Its IPs."),
              ready: flag("conditions.ready"),
              serving: flag("conditions.serving"),
              terminating: flag("conditions.terminating"),
              hostname: { type: "string" },
              node: { type: "string" },
              zone: { type: "string" },
              forZones: texts("Hints: zones. Not there: none."),
              forNodes: texts("Hints: boards. Not there: none."),
            },
          },
        },
        labels,
        annotations,
        owners: texts("Kind/name/uid."),
        triggerMs,
      },
    },
  },
};
