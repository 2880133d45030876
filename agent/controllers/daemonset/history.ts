import type { ControllerRevision, DaemonSet, Pod } from "../../api/core.ts";
import { controlledBy } from "../../api/owners.ts";
import { controllerRevisions, daemonSets, newObject, pods as podResource } from "../../api/resources.ts";
import type { Steps } from "../../base/steps.ts";
import { type Action, anyStateOf, refTo } from "../../execution/actions.ts";
import { hashLabel } from "./daemon-pod.ts";
import { inOrder, isSameContent, templateHash } from "./template-hash.ts";

/** The revisions of a set, apart from the present one (docs/kubernetes-rules.md#revision-history). */
export interface History {
  /** Revisions of the present template; the one that stays comes first. None: it has to be made. */
  readonly present: readonly ControllerRevision[];
  readonly old: readonly ControllerRevision[];
  /** Where none is present. */
  readonly made?: NewRevision;
}

/** The revision of the present template, where it has to be made. */
export interface NewRevision {
  readonly hash: string;
  readonly data: object;
}

/**
 * What a revision holds: a patch that brings the template back, in the very bytes that kubectl and kube-controller-manager
 * compare with.
 */
export function* revisionData(set: DaemonSet): Steps<object> {
  return { spec: { template: yield* inOrder(contentOf(set).spec.template) } };
}

const contentOf = ({ spec }: DaemonSet) => ({ spec: { template: { ...spec?.template, $patch: "replace" } } });

/** Compared by content: a hash of another program says nothing, and a collision would say something wrong. */
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

/** Its hash; one that lacks the label gets its name for it, which no other revision can have. */
export const hashOf = ({ metadata }: ControllerRevision): string => metadata.labels?.[hashLabel] ?? metadata.name;

/** How the revision of the present template is called where it has to be made. */
export const presentHash = ({ spec, status }: DaemonSet): Steps<string> =>
  templateHash(spec?.template, status?.collisionCount);

export function* newRevision(set: DaemonSet): Steps<NewRevision> {
  return { hash: yield* presentHash(set), data: yield* revisionData(set) };
}

export const revisionName = (set: DaemonSet, hash: string): string => `${set.metadata.name}-${hash}`;

/** Makes the history say what is: labels that are missing, the number of the present template, which it may lack. */
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
  // An old template that became the present one again: a rollback.
  const raised = kept.revision < next ? [patchOf(kept, { revision: next })] : [];
  return [...labels, ...raised, ...(duplicates.length > 0 ? relabelled(pods, old, hashOf(kept)) : [])];
}

/** Only once no pod carries their hash any more. */
export const duplicateDeletions = ({ present }: History): readonly Action[] => present.slice(1).map(deletion);

/** The oldest revisions above the limit, except those that a pod is still of. */
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
 * Another template has taken the name that this one would have: the next attempt is counted as another. `live`: as the
 * API has the set now, so that nothing is counted twice.
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
 * Of several revisions of one template all but one are about to go, and with them what their hash means.
 * kube-controller-manager relabels pods of older templates too, which an update then never reaches.
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

/** As it was read: an old template may be the present one again before a late deletion arrives. */
const deletion = (revision: ControllerRevision): Action => ({
  do: "delete",
  target: refTo(controllerRevisions, revision),
});

const byName = (a: ControllerRevision, b: ControllerRevision): number => (a.metadata.name < b.metadata.name ? -1 : 1);
