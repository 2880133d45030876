import { type KubeObject, keyOf } from "../api/meta.ts";
import { compareVersions } from "../api/resource-version.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import type { Outcome } from "../execution/actions.ts";
import type { SiteView } from "../loop/controller.ts";

/**
 * What we wrote and the cache does not show yet, by uid. Whoever counts objects waits until nothing is expected any more:
 * what a stale cache lacks would be created a second time (docs/kubernetes-rules.md#expectations).
 *
 * kube-controller-manager counts events; here it is known which objects are meant, so none is mistaken for another, and
 * one that nobody will ever see (created, and gone before the watch told) is asked about.
 */
export type Expectations = ReadonlyMap<string, Expected>;

interface Expected {
  readonly key: string;
  /** The resourceVersion that our write made; undefined: we deleted it. */
  readonly version: string | undefined;
  readonly at: Instant;
}

export const nothingExpected: Expectations = new Map();

/** After so long a write that shows nowhere is forgotten: as kube-controller-manager does. */
const forgottenAfter: Millis = 300_000;
/** A watch brings our own writes within this time, as long as it is not behind. */
const patience: Millis = 2000;
/** In one pass. */
const mostQuestions = 16;

/** How soon to look again while something is expected, although nothing changed. */
export const expectationRecheck: Millis = patience;

/** With what these outcomes let us expect of objects of a resource. What was not written is not expected. */
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

/** What of it the cache does not show yet. The API is asked about what should have been seen for long. */
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
