import type { DaemonSet, Lease, Node, Pod, Service } from "../../api/core.ts";
import { type KubeObject, lastAppliedAnnotation, type ObjectMeta } from "../../api/meta.ts";
import { onSilenceAnnotation } from "../../api/pods.ts";

/*
 * A trim keeps the fields that controllers read. Trimming a trimmed object changes nothing.
 *
 * Keeping an additional field requires a migration that empties the cache, because stored objects lack the field and a
 * resumed watch would not deliver it. Pods are listed as protobuf, so a field of a Pod must also be added to
 * client/decoding/pod-message.ts, and to the sample that the tests read in both forms. The field also needs a shape
 * check, which is applied when objects are parsed.
 */

/**
 * Keeps only the on-silence annotation, because tenants may write thousands of others. A drain also needs the
 * mirror-pod annotation, so it lists pods from the API instead of using the cache.
 */
export const trimPod = ({ metadata, spec, status }: Pod): Pod => ({
  metadata: { ...trimMetadata(metadata, none), ...onSilence(metadata) },
  spec: {
    ...keep(spec, ["nodeName", "tolerations", "nodeSelector", "restartPolicy"]),
    ...keep(spec, ["hostNetwork", "hostname", "subdomain", "overhead", "schedulingGates"]),
    ...requests(spec?.resources),
    ...(spec?.affinity ? { affinity: keep(spec.affinity, ["nodeAffinity"]) } : {}),
    ...claims(spec),
    containers: listed(spec?.containers).map(trimContainer),
    ...initContainers(spec),
  },
  status: keep(status, ["phase", "reason", "conditions", "podIP", "podIPs"]),
});

/** In characters. All values that have a meaning are shorter. */
const maxOnSilenceLength = 64;

function onSilence({ annotations }: ObjectMeta): Pick<ObjectMeta, "annotations"> {
  const value = annotations?.[onSilenceAnnotation];
  if (value === undefined) return {};
  return { annotations: { [onSilenceAnnotation]: value.length > maxOnSilenceLength ? "(too long)" : value } };
}

/** Keeps the volumes that may bind the pod to a board. */
function claims(spec: Pod["spec"]): Pick<NonNullable<Pod["spec"]>, "volumes"> {
  const volumes = listed(spec?.volumes).flatMap(({ name, persistentVolumeClaim }) =>
    persistentVolumeClaim ? [{ name, persistentVolumeClaim: { claimName: persistentVolumeClaim.claimName } }] : [],
  );
  return volumes.length > 0 ? { volumes } : {};
}

/** Drops, above all, the images, which make up most of a Node object. */
export const trimNode = ({ metadata, spec, status }: Node): Node => ({
  metadata: trimMetadata(metadata, isOurs),
  spec: keep(spec, ["taints", "unschedulable"]),
  status: { ...keep(status, ["conditions", "addresses", "allocatable"]), ...trimNodeInfo(status?.nodeInfo) },
});

/** Keeps the ID of the boot in which the kubelet last reported. */
const trimNodeInfo = (info: NonNullable<Node["status"]>["nodeInfo"]): Pick<NonNullable<Node["status"]>, "nodeInfo"> =>
  info?.bootID ? { nodeInfo: { bootID: info.bootID } } : {};

/** Drops the times, which are from another machine; the resourceVersion shows renewals. */
export const trimLease = ({ metadata }: Lease): Lease => ({ metadata: trimMetadata(metadata, isOurs) });

/**
 * Keeps all annotations because, as in kube-controller-manager, they are copied to ControllerRevisions, where kubectl
 * reads them.
 */
export const trimDaemonSet = (daemonSet: DaemonSet): DaemonSet => withMetadata(daemonSet, () => true);

/** Drops the only string of a spec that API servers do not check, because a tenant may write 1.5 MB into it. */
export function trimService(service: Service): Service {
  const { spec: { loadBalancerIP: _, ...spec } = {} } = service;
  return trimAny({ ...service, spec });
}

/** Drops only fields that API servers and tools write for their own use. */
export const trimAny = <T extends KubeObject>(object: T): T =>
  withMetadata(object, (name) => name !== lastAppliedAnnotation);

const withMetadata = <T extends KubeObject>(
  { apiVersion: _apiVersion, kind: _kind, ...object }: T,
  isKept: (annotation: string) => boolean,
): T =>
  // The same kind of object, because the removed fields are optional in every kind.
  ({ ...object, metadata: trimMetadata(object.metadata, isKept) }) as T;

const isOurs = (annotation: string): boolean => annotation.startsWith("siteward.dev/");

function trimMetadata(metadata: ObjectMeta, isKept: (annotation: string) => boolean): ObjectMeta {
  const { name, uid, resourceVersion } = metadata;
  const annotations = isKept === none ? {} : keptOf(metadata.annotations, isKept);
  return {
    name,
    uid,
    resourceVersion,
    ...keep(metadata, ["namespace", "generation", "creationTimestamp", "labels", "ownerReferences", "finalizers"]),
    ...keep(metadata, ["deletionTimestamp", "deletionGracePeriodSeconds"]),
    ...(isEmpty(annotations) ? {} : { annotations }),
  };
}

/**
 * Does not build a list of all entries, because an object may have tens of thousands of annotations, of which few are
 * kept.
 */
function keptOf(annotations: ObjectMeta["annotations"], isKept: (annotation: string) => boolean) {
  const kept: Record<string, string> = {};
  for (const annotation in annotations) {
    const value = isKept(annotation) ? annotations[annotation] : undefined;
    if (value !== undefined) kept[annotation] = value;
  }
  return kept;
}

function isEmpty(object: object): boolean {
  for (const _ in object) return false;
  return true;
}

const none = (): boolean => false;

type Container = NonNullable<Pod["spec"]>["containers"][number];

const trimContainer = (container: Container): Container => ({
  name: container.name,
  ...keep(container, ["ports", "restartPolicy"]),
  ...requests(container.resources),
});

type Resources = NonNullable<Container["resources"]>;

/** Resource requests, of a container or of a whole pod. */
function requests(resources: Resources | undefined): { readonly resources?: Resources } {
  const kept = keep(resources, ["requests"]);
  return kept.requests === undefined ? {} : { resources: kept };
}

/** Keeps sidecars, whose ports are reachable while the pod runs, and init containers with resource requests. */
function initContainers(spec: Pod["spec"]): { readonly initContainers?: readonly Container[] } {
  const trimmed = listed(spec?.initContainers).map(trimContainer);
  const kept = trimmed.filter(({ restartPolicy, resources }) => restartPolicy === "Always" || resources !== undefined);
  return kept.length > 0 ? { initContainers: kept } : {};
}

/** The named properties that are neither undefined nor null. */
function keep<T extends object, Name extends keyof T>(
  from: T | undefined,
  names: readonly Name[],
): { readonly [Kept in Name]?: NonNullable<T[Kept]> } {
  const kept: { -readonly [Kept in Name]?: NonNullable<T[Kept]> } = {};
  if (from === undefined) return kept;
  for (const name of names) {
    const value = from[name];
    if (value !== undefined && value !== null) kept[name] = value;
  }
  return kept;
}

/** The objects in a list; none if the value is not a list. */
const listed = <Item extends object>(list: readonly Item[] | undefined): readonly Item[] =>
  Array.isArray(list) ? list.filter((item: unknown): item is Item => typeof item === "object" && item !== null) : [];
