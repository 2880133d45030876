import type { EndpointSlice, Endpoints, Pod, Service } from "../../../../agent/api/core.ts";
import type { Instant } from "../../../../agent/base/clock.ts";
import { controllerName, labelsFor } from "../../../../agent/controllers/endpoint-slice/content.ts";
import type { SilentBoards } from "../../../../agent/controllers/service/readiness.ts";
import type { SliceEndpoint } from "../../../../agent/controllers/slices/slice.ts";
import { managedByLabel } from "../../../../agent/controllers/slices/slice.ts";
import type { Verdict } from "../../../../agent/judgement/verdict.ts";

/** What matters of a service, a pod or a slice is said; everything else is as it usually is. */

export const at = (seconds: number): Instant => ({ mono: seconds * 1000, wall: seconds * 1000 });

export const service = (spec: Service["spec"] = {}, metadata: Partial<Service["metadata"]> = {}): Service => ({
  metadata: {
    name: "web",
    namespace: "default",
    uid: "uid-web",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    ...metadata,
  },
  spec: {
    type: "ClusterIP",
    clusterIP: "10.96.0.1",
    ipFamilies: ["IPv4"],
    selector: { app: "web" },
    ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP" }],
    ...spec,
  },
});

export interface PodSaid {
  readonly ready?: boolean;
  readonly on?: string;
  readonly ip?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly terminating?: boolean;
  readonly since?: string;
  readonly version?: string;
}

export function webPod(name: string, said: PodSaid = {}): Pod {
  const { ready = true, on = "pi-1", ip = `10.0.0.${name.charCodeAt(0)}`, labels = { app: "web" } } = said;
  const { since = "2026-01-01T00:00:00Z", version = "1" } = said;
  return {
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      resourceVersion: version,
      labels,
      ...(said.terminating && { deletionTimestamp: "2026-01-01T01:00:00Z" }),
    },
    spec: { containers: [], nodeName: on },
    status: {
      phase: "Running",
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: since }],
    },
  };
}

/** Endpoints as they stand written: these pods ready, those not. "a" is on pi-1, "b@pi-2" on pi-2. */
export const written = (ready: readonly string[], notReady: readonly string[] = [], version = "7"): Endpoints => {
  const address = (text: string) => {
    const [name = "", nodeName = "pi-1"] = text.split("@");
    const targetRef = { kind: "Pod", namespace: "default", name, uid: `uid-${name}` };
    return { ip: `10.0.0.${name.charCodeAt(0)}`, nodeName, targetRef };
  };
  return {
    metadata: {
      name: "web",
      namespace: "default",
      uid: "uid-endpoints",
      resourceVersion: version,
      labels: { "endpoints.kubernetes.io/managed-by": "endpoint-controller" },
    },
    subsets: [
      {
        ...(ready.length > 0 && { addresses: ready.map(address) }),
        ...(notReady.length > 0 && { notReadyAddresses: notReady.map(address) }),
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      },
    ],
  };
};

export const slice = (
  name: string,
  endpoints: readonly SliceEndpoint[],
  more: Partial<Omit<EndpointSlice, "metadata">> & { readonly metadata?: Partial<EndpointSlice["metadata"]> } = {},
): EndpointSlice => {
  const { metadata, ...rest } = more;
  return {
    addressType: "IPv4",
    endpoints,
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    ...rest,
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      resourceVersion: "5",
      generation: 1,
      labels: { ...labelsFor(service()), [managedByLabel]: controllerName },
      ownerReferences: [
        { apiVersion: "v1", kind: "Service", name: "web", uid: "uid-web", controller: true, blockOwnerDeletion: true },
      ],
      ...metadata,
    },
  };
};

/** An endpoint as it stands written. */
export const endpoint = (name: string, ready = true): SliceEndpoint => ({
  addresses: [`10.0.0.${name.charCodeAt(0)}`],
  conditions: { ready, serving: ready, terminating: false },
  nodeName: "pi-1",
  targetRef: { kind: "Pod", namespace: "default", name, uid: `uid-${name}` },
});

export const clear: SilentBoards = { policy: "evidence", held: undefined, boards: new Map() };

/** pi-1 is silent: what is held to be true of it, and why nothing may rest on that. */
export const silent = (verdict: Verdict["verdict"] | undefined, held?: string): SilentBoards => ({
  policy: "evidence",
  held,
  boards: new Map([["pi-1", verdict && { verdict, rule: "as the test says" }]]),
});
