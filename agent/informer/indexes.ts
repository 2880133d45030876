import type { IndexFunctions } from "../../storage/object.ts";
import type { EndpointSlice, Pod, Service } from "../api/core.ts";
import { labelValues, selectedBy, serviceOf } from "../api/index-values.ts";
import type { KubeObject } from "../api/meta.ts";
import { pinnedTo } from "../api/node-affinity.ts";
import { controllerOf } from "../api/owners.ts";
import { hasEnded, isTerminating } from "../api/pods.ts";
import { asksForZones } from "../api/topology.ts";

/** By the uid of the controlling owner. Objects without one are under no value. */
const byOwner = (object: KubeObject): readonly string[] => present(controllerOf(object)?.uid);

/** By namespace and by each label, except labels that only name the revision: see `mayMatch`. */
const byLabel = ({ metadata: { namespace = "", labels } }: KubeObject): readonly string[] =>
  labelValues(namespace, labels);

const byNamespace = ({ metadata }: KubeObject): readonly string[] => present(metadata.namespace);

/** A pod that is not bound yet is under no board. */
export const podIndices: IndexFunctions<Pod> = {
  byNode: ({ spec }) => present(spec?.nodeName),
  /** Of unbound pods: the only board that they may be bound to. */
  byPin: ({ spec }) => (spec?.nodeName ? [] : present(pinnedTo(spec?.affinity))),
  byOwner,
  byLabel,
  /** Running pods have no value. */
  byEnd: (pod) => [...(hasEnded(pod) ? ["ended"] : []), ...(isTerminating(pod) ? ["terminating"] : [])],
};

export const revisionIndices: IndexFunctions<KubeObject> = { byOwner, byLabel };

export const daemonSetIndices: IndexFunctions<KubeObject> = { byNamespace };

/** By the one label that a selected pod must have: see `mayBeSelectedBy`. */
export const serviceIndices: IndexFunctions<Service> = {
  bySelector: ({ metadata: { namespace = "" }, spec }) =>
    spec?.selector === undefined ? [] : [selectedBy(namespace, spec.selector)],
  /** Only services that ask for topology hints. */
  bySharing: (service) => (asksForZones(service) ? ["zones"] : []),
};

export const sliceIndices: IndexFunctions<EndpointSlice> = { byService: (slice) => present(serviceOf(slice)) };

const present = (value: string | undefined): readonly string[] => (value === undefined || value === "" ? [] : [value]);
