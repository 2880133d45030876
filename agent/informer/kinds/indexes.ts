import type { IndexFunctions } from "../../../storage/object.ts";
import type { EndpointSlice, Pod, Service } from "../../api/core.ts";
import { labelValues, placeValue, selectedBy, serviceOf } from "../../api/index-values.ts";
import type { KubeObject } from "../../api/meta.ts";
import { pinnedTo } from "../../api/node-affinity.ts";
import { controllerOf } from "../../api/owners.ts";
import {
  boardOf,
  countsAsReady,
  hasEnded,
  isKeptByFinalizers,
  isTerminating,
  wasAcceptedByKubelet,
} from "../../api/pods.ts";
import { asksForZones } from "../../api/topology.ts";

/*
 * The indices of the cache. A new or a removed index is noticed at the next start, by its name. A function that
 * computes other values under the same name is not noticed: such a change needs a step in `cacheMigrations`
 * (storage/schema.ts) that empties the cache, so that no board keeps rows of the old function.
 */

/** The uid of the controlling owner; no value for objects without one. */
const byOwner = (object: KubeObject): readonly string[] => present(controllerOf(object)?.uid);

/**
 * Index values for label queries: the namespace, alone and with each label, except for labels that only name the
 * revision (see `mayMatch`).
 */
const byLabel = ({ metadata: { namespace = "", labels } }: KubeObject): readonly string[] =>
  labelValues(namespace, labels);

const byNamespace = ({ metadata }: KubeObject): readonly string[] => present(metadata.namespace);

export const podIndices: IndexFunctions<Pod> = {
  /** The board of the pod; no value for unbound pods. */
  byNode: (pod) => present(boardOf(pod)),
  /** The board of a bound pod that would be marked not ready if this board fell silent; no value for others. */
  byNodeIfReady: (pod) => (countsAsReady(pod) ? present(boardOf(pod)) : []),
  /** Board and namespace of a bound pod; no value for one that only finalizers keep. */
  byPlace: (pod) => {
    const board = boardOf(pod);
    return board === undefined || isKeptByFinalizers(pod) ? [] : [placeValue(board, pod.metadata.namespace ?? "")];
  },
  /** The one board that an unbound pod may be bound to; no value for bound pods. */
  byPin: ({ spec }) => (spec?.nodeName ? [] : present(pinnedTo(spec?.affinity))),
  byOwner,
  byLabel,
  /** "ended", "terminating" or both; no value for other pods. */
  byEnd: (pod) => [...(hasEnded(pod) ? ["ended"] : []), ...(isTerminating(pod) ? ["terminating"] : [])],
  /** The namespace of a pod that a kubelet has taken up and that has not ended; no value for other pods. */
  byRun: (pod) => (wasAcceptedByKubelet(pod) && !hasEnded(pod) ? present(pod.metadata.namespace) : []),
};

export const revisionIndices: IndexFunctions<KubeObject> = { byOwner, byLabel };

export const daemonSetIndices: IndexFunctions<KubeObject> = { byNamespace };

export const serviceIndices: IndexFunctions<Service> = {
  /** One of the labels that a selected pod must have: see `mayBeSelectedBy`. */
  bySelector: ({ metadata: { namespace = "" }, spec }) =>
    spec?.selector === undefined ? [] : [selectedBy(namespace, spec.selector)],
  /** "zones" for services that request topology hints; no value for others. */
  bySharing: (service) => (asksForZones(service) ? ["zones"] : []),
};

export const sliceIndices: IndexFunctions<EndpointSlice> = { byService: (slice) => present(serviceOf(slice)) };

const present = (value: string | undefined): readonly string[] => (value === undefined || value === "" ? [] : [value]);
