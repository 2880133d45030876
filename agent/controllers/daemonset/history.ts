import type { ControllerRevision, DaemonSet, Pod } from "../../api/core.ts";
import { controlledBy } from "../../api/owners.ts";
import { controllerRevisions, daemonSets, newObject, pods as podResource } from "../../api/resources.ts";
import type { Steps } from "../../base/steps.ts";
import { type Action, anyStateOf, refTo } from "../../execution/actions.ts";
import { hashLabel } from "./daemon-pod.ts";
import { inOrder, isSameContent, templateHash } from "./template-hash.ts";

/**
 * The revisions of a set: those of the present template, and the others (docs/kubernetes-rules.md#revision-history).
 */
export interface History {
  /** Revisions of the present template; the first is kept. Empty: one has to be created. */
  readonly present: readonly ControllerRevision[];
  readonly old: readonly ControllerRevision[];
  /** Set if `present` is empty. */
  readonly made?: NewRevision;
}

/** The revision to be created for the present template. */
export interface NewRevision {
  readonly hash: string;
  readonly data: object;
}

/**
 * The data of a revision: a patch that restores the template, byte for byte as kubectl and kube-controller-manager
 * compare it.
 */
export function* revisionData(set: DaemonSet): Steps<object> {
  return { spec: { template: yield* inOrder(contentOf(set).spec.template) } };
}

const contentOf = ({ spec }: DaemonSet) => ({ spec: { template: { ...spec?.template, $patch: "replace" } } });

/** Compares by content: other programs hash differently, and a hash collision would give a wrong match. */
export function* historyOf(set: DaemonSet, revisions: readonly ControllerRevision[]): Steps<History> {
  const content = contentOf(set);
  const same = new Set<ControllerRevision>();
  for (const revision of revisions) {
    if (isSameContent(revision.data, content)) same.add(revision);
    yield;
  }
  const present = [...same].toSorted((a, b) => b.revision - a.revision || byName(a, b));
  return { present, old: revisions.filter((revision) => !same.has(revision)) };
}

export const isOfTemplate = (set: DaemonSet, { data }: ControllerRevision): boolean =>
  isSameContent(data, contentOf(set));

/** The revision's hash label; without one its name, which is unique. */
export const hashOf = ({ metadata }: ControllerRevision): string => metadata.labels?.[hashLabel] ?? metadata.name;

/** The hash of a new revision of the present template. */
export const presentHash = ({ spec, status }: DaemonSet): Steps<string> =>
  templateHash(spec?.template, status?.collisionCount);

export function* newRevision(set: DaemonSet): Steps<NewRevision> {
  return { hash: yield* presentHash(set), data: yield* revisionData(set) };
}

export const revisionName = (set: DaemonSet, hash: string): string => `${set.metadata.name}-${hash}`;

/** Adds missing hash labels, and creates the present revision or raises its number to the highest one. */
export function historyWrites(
  set: DaemonSet,
  { present, old, made }: History,
  pods: readonly Pod[],
): readonly Action[] {
  const labels = [...present, ...old]
    .filter(({ metadata }) => metadata.labels?.[hashLabel] === undefined)
    .map((revision) => patchOf(revision, { metadata: { labels: { [hashLabel]: revision.metadata.name } } }));
  const next = nextRevision(old);
  const [kept, ...duplicates] = present;
  if (kept === undefined) return made === undefined ? labels : [...labels, creation(set, made, next)];
  // A rollback: an old template became the present one again.
  const raised = kept.revision < next ? [patchOf(kept, { revision: next })] : [];
  return [...labels, ...raised, ...(duplicates.length > 0 ? relabelled(pods, old, hashOf(kept)) : [])];
}

/** Only once no pod carries their hash any more. */
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
 * Counts a collision: another template has taken the name, so the next attempt hashes to another one. `live`: the set
 * as read from the API, so that no collision is counted twice.
 */
export const collisionCounted = (live: DaemonSet): Action => ({
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
 * Of several revisions of the present template one is kept. Gives its hash to the pods of the others, which are about
 * to be deleted. kube-controller-manager relabels pods of older templates too, and an update then never replaces them.
 */
function relabelled(pods: readonly Pod[], old: readonly ControllerRevision[], hash: string): readonly Action[] {
  const kept = new Set([hash, ...old.map(hashOf)]);
  return pods
    .filter(({ metadata }) => !kept.has(metadata.labels?.[hashLabel] ?? ""))
    .map((pod) => ({
      do: "patch",
      target: anyStateOf(refTo(podResource, pod)),
      type: "merge",
      patch: { metadata: { labels: { [hashLabel]: hash } } },
    }));
}

const nextRevision = (old: readonly ControllerRevision[]): number =>
  old.reduce((most, { revision }) => Math.max(most, revision), 0) + 1;

const patchOf = (revision: ControllerRevision, patch: object): Action => ({
  do: "patch",
  target: refTo(controllerRevisions, revision),
  type: "merge",
  patch,
});

/**
 * Deletes only the version that was read: a rollback may make the old template the present one before the request
 * arrives.
 */
const deletion = (revision: ControllerRevision): Action => ({
  do: "delete",
  target: refTo(controllerRevisions, revision),
});

const byName = (a: ControllerRevision, b: ControllerRevision): number => (a.metadata.name < b.metadata.name ? -1 : 1);
