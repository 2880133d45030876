import { type KubeObject, keyOf } from "../api/meta.ts";
import { compareVersions } from "../api/resource-version.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Outcome } from "../execution/actions.ts";
import type { SiteView } from "../loop/controller.ts";

/**
 * Our own writes that the cache does not show yet, by uid. A controller that counts objects waits until none is left:
 * it would otherwise create again what a stale cache lacks (docs/kubernetes-rules.md#expectations).
 *
 * kube-controller-manager counts events. Here the objects are known, so none is mistaken for another. An object deleted
 * before the watch delivered its creation is requested from the API.
 */
export type Expectations = ReadonlyMap<string, Expected>;

interface Expected {
  readonly key: string;
  /** The resourceVersion after our write; undefined: we deleted the object. */
  readonly version: string | undefined;
  readonly at: Instant;
}

export const nothingExpected: Expectations = new Map();

/** An expectation is dropped after this time, as in kube-controller-manager. */
const forgottenAfter: Millis = 300_000;
/** A watch that is not behind delivers our own writes within this time. */
const patience: Millis = 2000;
/** Most requests in one pass. */
const mostQuestions = 16;

/** How soon to check again while something is expected, even without a change. */
export const expectationRecheck: Millis = patience;

/** Adds what these outcomes lead us to expect of the objects of one resource. Failed writes add nothing. */
export function expecting(
  before: Expectations,
  resource: Resource<KubeObject>,
  outcomes: readonly Outcome[],
  now: Instant,
): Expectations {
  const expected = new Map(before);
  for (const outcome of outcomes) {
    if (!outcome.ok) continue;
    const { action, object } = outcome;
    const isOurs = "target" in action && resourceName(action.target.resource) === resourceName(resource);
    if (isOurs && action.do === "delete") {
      const { uid, name, namespace } = action.target;
      const metadata = namespace === undefined ? { name } : { name, namespace };
      expected.set(uid, { key: keyOf({ metadata }), version: undefined, at: now });
    } else if (object && (isOurs || isCreated(action, resource))) {
      const { uid, resourceVersion } = object.metadata;
      expected.set(uid, { key: keyOf(object), version: resourceVersion, at: now });
    }
  }
  return expected;
}

const isCreated = (action: Outcome["action"], resource: Resource<KubeObject>): boolean =>
  action.do === "create" && resourceName(action.resource) === resourceName(resource);

/** The expectations that the cache does not meet yet. Overdue ones are checked with the API. */
export async function outstanding<T extends KubeObject>(
  expected: Expectations,
  resource: Resource<T>,
  site: SiteView,
): Promise<Expectations> {
  const left = new Map<string, Expected>();
  let questions = 0;
  for (const [uid, one] of expected) {
    const age = elapsed(one.at, site.now);
    if (age >= forgottenAfter || isMet(uid, one, site.lister(resource).get(one.key))) continue;
    if (one.version !== undefined && age >= patience && questions < mostQuestions) {
      questions++;
      if ((await site.fetch(resource, one.key))?.metadata.uid !== uid) continue;
    }
    left.set(uid, one);
  }
  return left;
}

function isMet(uid: string, { version }: Expected, cached: KubeObject | undefined): boolean {
  if (version === undefined) return cached?.metadata.uid !== uid || cached.metadata.deletionTimestamp !== undefined;
  return cached !== undefined && compareVersions(cached.metadata.resourceVersion, version) >= 0;
}
