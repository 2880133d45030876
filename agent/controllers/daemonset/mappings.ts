import type { DaemonSet, Node, Pod } from "../../api/core.ts";
import { isSameJson, type JsonObject } from "../../api/json.ts";
import { type KubeObject, keyOf } from "../../api/meta.ts";
import { controllerOf } from "../../api/owners.ts";
import { controllerRevisions, daemonSets, nodes, pods } from "../../api/resources.ts";
import { matchesLabels } from "../../api/selectors.ts";
import { taintsOf } from "../../api/taints.ts";
import {
  type EnqueueMapping,
  enqueueOn,
  enqueueOnChange,
  type ObjectChange,
  type SiteView,
} from "../../loop/controller.ts";
import { eligibilityOf } from "./eligibility.ts";
import { selectorOf } from "./selector.ts";

/**
 * The changes that enqueue a set (docs/kubernetes-rules.md#daemon-triggers), the same as in kube-controller-manager. A
 * deleted Node, or one that becomes ineligible for new pods, is reflected in the status only at the next of these
 * changes.
 */
export const setMappings: readonly EnqueueMapping[] = [
  enqueueOn(daemonSets, ({ key }) => [key]),
  enqueueOn(pods, ownersOf),
  enqueueOn(controllerRevisions, ownersOf),
  enqueueOnChange(nodes, setsForBoard),
];

/**
 * The sets that control the object before and after the change; for an object without a controller, every set whose
 * selector matches it.
 */
function* ownersOf({ before, after, resync }: ObjectChange<KubeObject>, site: SiteView): Generator<string | undefined> {
  const [was, is] = [before && controllerKey(before, site), after && controllerKey(after, site)];
  if (was !== undefined && was !== is) yield was;
  if (is !== undefined) yield is;
  // A resync enqueues all sets anyway.
  if (resync || after === undefined || controllerOf(after) !== undefined) return;
  const isSame =
    before !== undefined && controllerOf(before) === undefined && isSameJson(labels(before), labels(after));
  if (!isSame) yield* matchingSets(after, site);
}

function controllerKey(object: KubeObject, site: SiteView): string | undefined {
  const owner = controllerOf(object);
  if (owner?.kind !== daemonSets.kind) return undefined;
  const key = `${object.metadata.namespace}/${owner.name}`;
  return site.lister(daemonSets).get(key)?.metadata.uid === owner.uid ? key : undefined;
}

function* matchingSets(object: KubeObject, site: SiteView): Generator<string | undefined> {
  const { namespace = "" } = object.metadata;
  for (const set of site.lister(daemonSets).byIndex("byNamespace", namespace)) {
    const selector = selectorOf(set) ?? [];
    yield selector.length > 0 && matchesLabels(selector, object.metadata.labels) ? keyOf(set) : undefined;
  }
}

/** The sets affected by a change of a Node. Only labels and taints decide where daemon pods may run. */
function* setsForBoard({ key, before, after }: ObjectChange<Node>, site: SiteView): Generator<string | undefined> {
  if (after === undefined) return;
  if (before && isSameJson(labels(before), labels(after)) && isSameJson(taintsOf(before), taintsOf(after))) return;
  const present = new Set<string>();
  for (const pod of site.lister(pods).byIndex("byNode", key)) {
    for (const set of daemonSetOf(pod)) present.add(set);
    yield undefined;
  }
  for (const set of site.lister(daemonSets).list()) {
    yield isTouched(set, after, present.has(keyOf(set))) ? keyOf(set) : undefined;
  }
}

function isTouched(set: DaemonSet, node: Node, isThere: boolean): boolean {
  const { run, stay } = eligibilityOf(set, node);
  return isThere ? !stay || (set.status?.numberMisscheduled ?? 0) > 0 : run;
}

function daemonSetOf(pod: Pod): readonly string[] {
  const owner = controllerOf(pod);
  return owner?.kind === daemonSets.kind ? [`${pod.metadata.namespace}/${owner.name}`] : [];
}

const labels = ({ metadata }: KubeObject): JsonObject => metadata.labels ?? {};
