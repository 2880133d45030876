import type { ControllerRevision, DaemonSet, Pod } from "../../api/core.ts";
import { mayMatch } from "../../api/index-values.ts";
import { type KubeObject, keyOf } from "../../api/meta.ts";
import { controllerRevisions, daemonSets, pods, type Resource } from "../../api/resources.ts";
import { type LabelSelector, matchesLabels } from "../../api/selectors.ts";
import { type Action, refTo } from "../../execution/actions.ts";
import type { SiteView } from "../../loop/controller.ts";
import { adoption, claimOf, mayAdopt, release } from "../claims.ts";

/** The objects of a set, and the writes that adopt or release objects. */
export interface Claimed {
  readonly pods: readonly Pod[];
  readonly revisions: readonly ControllerRevision[];
  readonly claims: readonly Action[];
}

/** `undefined`: the set is gone or being deleted in the API, so nothing may be adopted for it. */
export async function readClaimed(
  set: DaemonSet,
  selector: LabelSelector,
  site: SiteView,
): Promise<Claimed | undefined> {
  const ofPods = claim(set, selector, pods, site);
  const ofRevisions = claim(set, selector, controllerRevisions, site);
  const adopts = ofPods.adopts || ofRevisions.adopts;
  // Reads the set once, and only if something is to be adopted (docs/kubernetes-rules.md#claiming).
  if (adopts && !mayAdopt(set, await site.fetch(daemonSets, keyOf(set)))) return undefined;
  return { pods: ofPods.mine, revisions: ofRevisions.mine, claims: [...ofPods.claims, ...ofRevisions.claims] };
}

function claim<T extends KubeObject>(
  set: DaemonSet,
  selector: LabelSelector,
  resource: Resource<T>,
  site: SiteView,
): { readonly mine: readonly T[]; readonly claims: readonly Action[]; readonly adopts: boolean } {
  const mine = new Map<string, T>();
  const claims = new Map<string, Action>();
  let adopts = false;
  for (const object of candidates(set, selector, site, resource)) {
    const { uid, labels } = object.metadata;
    if (mine.has(uid)) continue;
    const what = claimOf(set, object, matchesLabels(selector, labels));
    if (what === "keep" || what === "adopt") mine.set(uid, object);
    if (what === "release") claims.set(uid, release(set, refTo(resource, object)));
    if (what !== "adopt") continue;
    adopts = true;
    claims.set(uid, adoption(daemonSets, set, refTo(resource, object)));
  }
  return { mine: [...mine.values()], claims: [...claims.values()], adopts };
}

/**
 * Objects of the set's own namespace only. A tenant may write the uid of another tenant's set on its own objects; if
 * they counted, the set would lack pods on those boards.
 */
function* candidates<T extends KubeObject>(
  { metadata: { uid, namespace = "" } }: DaemonSet,
  selector: LabelSelector,
  site: SiteView,
  resource: Resource<T>,
): Generator<T> {
  const lister = site.lister(resource);
  for (const object of lister.byIndex("byOwner", uid)) if (object.metadata.namespace === namespace) yield object;
  yield* lister.byIndex("byLabel", mayMatch(namespace, selector));
}
