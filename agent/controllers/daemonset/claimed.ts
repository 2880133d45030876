import type { ControllerRevision, DaemonSet, Pod } from "../../api/core.ts";
import { mayMatch } from "../../api/index-values.ts";
import { type KubeObject, keyOf } from "../../api/meta.ts";
import { controllerRevisions, daemonSets, pods, type Resource } from "../../api/resources.ts";
import { type LabelSelector, matchesLabels } from "../../api/selectors.ts";
import type { Steps } from "../../base/steps.ts";
import { type Action, refTo } from "../../execution/actions.ts";
import type { SiteView } from "../../loop/controller.ts";
import { adoption, claimOf, mayAdopt, release } from "../claims.ts";
import { bareDaemonPod } from "./daemon-pod.ts";
import { type KnownRevision, knownRevision } from "./history.ts";

/** The objects that a set controls, and the writes that adopt or release objects. */
export interface Claimed {
  readonly pods: readonly Pod[];
  readonly revisions: readonly KnownRevision[];
  readonly claims: readonly Action[];
}

/**
 * Reads the set's objects. Undefined if the API shows that the set was deleted or is being deleted; it must then not
 * adopt anything.
 */
export async function readClaimed(
  set: DaemonSet,
  selector: LabelSelector,
  site: SiteView,
): Promise<Claimed | undefined> {
  const ofPods = await site.inTurns(claim(set, selector, site, { resource: pods, keep: keptPod }));
  const keep = (revision: ControllerRevision) => knownRevision(set, revision);
  const ofRevisions = await site.inTurns(claim(set, selector, site, { resource: controllerRevisions, keep }));
  const adopts = ofPods.adopts || ofRevisions.adopts;
  // Reads the set once, and only if something is to be adopted (docs/kubernetes-rules.md#claiming).
  if (adopts && !mayAdopt(set, await site.fetch(daemonSets, keyOf(set)))) return undefined;
  return { pods: ofPods.mine, revisions: ofRevisions.mine, claims: [...ofPods.claims, ...ofRevisions.claims] };
}

interface Claims<Kept> {
  readonly mine: readonly Kept[];
  readonly claims: readonly Action[];
  readonly adopts: boolean;
}

/**
 * Reads one object per step, and keeps only what `keep` returns of it, because a tenant's objects may be many and
 * large.
 *
 * Only objects in the set's own namespace are used. A tenant may name another tenant's set as the owner of its own
 * pods; if those were used, the set would not create pods on their boards.
 */
function* claim<T extends KubeObject, Kept>(
  set: DaemonSet,
  selector: LabelSelector,
  site: SiteView,
  { resource, keep }: { readonly resource: Resource<T>; readonly keep: (object: T) => Steps<Kept> },
): Steps<Claims<Kept>> {
  const mine = new Map<string, Kept>();
  const claims = new Map<string, Action>();
  let adopts = false;
  for (const object of candidates(set, selector, site, resource)) {
    yield;
    const { uid, namespace, labels } = object.metadata;
    if (namespace !== set.metadata.namespace || mine.has(uid)) continue;
    const what = claimOf(set, object, matchesLabels(selector, labels));
    if (what === "keep" || what === "adopt") mine.set(uid, yield* keep(object));
    if (what === "release") claims.set(uid, release(set, refTo(resource, object)));
    if (what !== "adopt") continue;
    adopts = true;
    claims.set(uid, adoption(daemonSets, set, refTo(resource, object)));
  }
  return { mine: [...mine.values()], claims: [...claims.values()], adopts };
}

function* keptPod(pod: Pod): Steps<Pod> {
  const bare = bareDaemonPod(pod);
  yield;
  return bare;
}

function* candidates<T extends KubeObject>(
  { metadata: { uid, namespace = "" } }: DaemonSet,
  selector: LabelSelector,
  site: SiteView,
  resource: Resource<T>,
): Generator<T> {
  const lister = site.lister(resource);
  yield* lister.byIndex("byOwner", uid);
  yield* lister.byIndex("byLabel", mayMatch(namespace, selector));
}
