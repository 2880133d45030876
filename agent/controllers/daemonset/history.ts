import type { ControllerRevision, DaemonSet, Pod } from "../../api/core.ts";
import type { ObjectMeta } from "../../api/meta.ts";
import { controlledBy } from "../../api/owners.ts";
import { controllerRevisions, daemonSets, newObject, pods as podResource } from "../../api/resources.ts";
import { mapInSteps, type Steps } from "../../base/steps.ts";
import { type Action, anyStateOf, refTo } from "../../execution/actions.ts";
import { hashLabel } from "./daemon-pod.ts";
import { inOrder, isSameContent, templateHash } from "./template-hash.ts";

/**
 * The revisions of a set: those of the current template, and the others (docs/kubernetes-rules.md#revision-history).
 */
export interface History {
  /** Revisions of the current template, of which the first is kept; empty if one must be created. */
  readonly present: readonly KnownRevision[];
  readonly old: readonly KnownRevision[];
  /** The revision to create; set only if `present` is empty. */
  readonly made?: NewRevision;
}

/**
 * The parts of a revision that a pass needs. Its data may be as large as the API server admits, and a tenant may keep
 * any number of revisions.
 */
export interface KnownRevision {
  /** Only name, namespace, uid, resourceVersion and the hash label. */
  readonly metadata: ObjectMeta;
  readonly revision: number;
  /** Whether the revision contains the current template. */
  readonly isPresent: boolean;
}

/** The revision to be created for the current template. */
export interface NewRevision {
  readonly hash: string;
  readonly data: object;
}

/**
 * The data of a revision: a patch that restores the template, in the exact form that kubectl and
 * kube-controller-manager compare.
 */
export function* revisionData(set: DaemonSet): Steps<object> {
  return { spec: { template: yield* inOrder(contentOf(set).spec.template) } };
}

const contentOf = ({ spec }: DaemonSet) => ({ spec: { template: { ...spec?.template, $patch: "replace" } } });

/**
 * The parts of a revision that a pass needs. The revision's content, not its hash, shows whether it is the current one:
 * other programs hash differently, and hashes may collide.
 */
export function* knownRevision(set: DaemonSet, { metadata, revision, data }: ControllerRevision): Steps<KnownRevision> {
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  const hash = labels?.[hashLabel];
  const kept = {
    name,
    uid,
    resourceVersion,
    ...(namespace !== undefined && { namespace }),
    ...(hash !== undefined && { labels: { [hashLabel]: hash } }),
  };
  return { metadata: kept, revision, isPresent: yield* isSameContent(data, contentOf(set)) };
}

export const historyOf = (revisions: readonly KnownRevision[]): History => ({
  present: revisions.filter(({ isPresent }) => isPresent).sort((a, b) => b.revision - a.revision || byName(a, b)),
  old: revisions.filter(({ isPresent }) => !isPresent),
});

/** The revision's hash label or, without that label, its name, which is unique. */
export const hashOf = ({ metadata }: KnownRevision): string => metadata.labels?.[hashLabel] ?? metadata.name;

/** The hash of a new revision of the current template. */
export const presentHash = ({ spec, status }: DaemonSet): Steps<string> =>
  templateHash(spec?.template, status?.collisionCount);

export function* newRevision(set: DaemonSet): Steps<NewRevision> {
  return { hash: yield* presentHash(set), data: yield* revisionData(set) };
}

export const revisionName = (set: DaemonSet, hash: string): string => `${set.metadata.name}-${hash}`;

/** Adds missing hash labels, and creates the current revision or raises its number to the highest one. */
export function* historyWrites(
  set: DaemonSet,
  { present, old, made }: History,
  pods: readonly Pod[],
): Steps<readonly Action[]> {
  const labels = [...present, ...old]
    .filter(({ metadata }) => metadata.labels?.[hashLabel] === undefined)
    .map((revision) => patchOf(revision, { metadata: { labels: { [hashLabel]: revision.metadata.name } } }));
  const next = nextRevision(old);
  const [kept, ...duplicates] = present;
  if (kept === undefined) return made === undefined ? labels : [...labels, creation(set, made, next)];
  // After a rollback, an old template is the current one, so its revision gets the highest number.
  const raised = kept.revision < next ? [patchOf(kept, { revision: next })] : [];
  return [...labels, ...raised, ...(duplicates.length > 0 ? yield* relabelled(pods, old, hashOf(kept)) : [])];
}

/** Deletes the duplicates of the current revision; called once no pod has their hash any more. */
export const duplicateDeletions = ({ present }: History): readonly Action[] => present.slice(1).map(deletion);

/** The oldest revisions above the limit, except those that pods still use. */
export function surplusRevisions(set: DaemonSet, { old }: History, pods: readonly Pod[]): readonly Action[] {
  const surplus = old.length - (set.spec?.revisionHistoryLimit ?? 10);
  if (surplus <= 0) return [];
  const inUse = new Set(pods.map(({ metadata }) => metadata.labels?.[hashLabel]));
  return old
    .filter((revision) => !inUse.has(hashOf(revision)))
    .toSorted((a, b) => a.revision - b.revision || byName(a, b))
    .slice(0, surplus)
    .map(deletion);
}

/**
 * Increments the collision count, so that the template gets another hash. `live`: the set as read from the API, so that
 * no collision is counted twice.
 */
export const countCollision = (live: DaemonSet): Action => ({
  do: "patch",
  target: refTo(daemonSets, live),
  type: "merge",
  patch: { status: { collisionCount: (live.status?.collisionCount ?? 0) + 1 } },
  subresource: "status",
});

function creation(set: DaemonSet, { hash, data }: NewRevision, revision: number): Action {
  const { namespace, annotations } = set.metadata;
  const object = newObject(controllerRevisions, {
    metadata: {
      name: revisionName(set, hash),
      ...(namespace !== undefined && { namespace }),
      labels: { ...set.spec?.template.metadata?.labels, [hashLabel]: hash },
      ...(annotations && { annotations }),
      ownerReferences: [controlledBy(daemonSets, set)],
    },
    data,
    revision,
  });
  return { do: "create", resource: controllerRevisions, object };
}

/**
 * Only one of several revisions of the current template is kept, and the pods of the others get its hash. Pods of older
 * templates keep their hash; kube-controller-manager relabels those too, so an update never replaces them.
 */
function* relabelled(pods: readonly Pod[], old: readonly KnownRevision[], hash: string): Steps<readonly Action[]> {
  const kept = new Set([hash, ...old.map(hashOf)]);
  const others = pods.filter(({ metadata }) => !kept.has(metadata.labels?.[hashLabel] ?? ""));
  return yield* mapInSteps(others, (pod) => ({
    do: "patch",
    target: anyStateOf(refTo(podResource, pod)),
    type: "merge",
    patch: { metadata: { labels: { [hashLabel]: hash } } },
  }));
}

const nextRevision = (old: readonly KnownRevision[]): number =>
  old.reduce((most, { revision }) => Math.max(most, revision), 0) + 1;

const patchOf = (revision: KnownRevision, patch: object): Action => ({
  do: "patch",
  target: refTo(controllerRevisions, revision),
  type: "merge",
  patch,
});

/**
 * Requires the resourceVersion that was read: before the request arrives, a rollback may have made the template of this
 * revision the current one again.
 */
const deletion = (revision: KnownRevision): Action => ({
  do: "delete",
  target: refTo(controllerRevisions, revision),
});

const byName = (a: KnownRevision, b: KnownRevision): number => (a.metadata.name < b.metadata.name ? -1 : 1);
