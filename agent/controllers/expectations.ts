import { type KubeObject, keyOf } from "../api/meta.ts";
import { compareVersions } from "../api/resource-version.ts";
import { type Resource, resourceName } from "../api/resources.ts";
import { backoff } from "../base/backoff.ts";
import { elapsed, type Instant, type Millis } from "../base/clock.ts";
import { endsStep, type Steps } from "../base/steps.ts";
import type { Outcome } from "../execution/actions.ts";
import type { SiteView } from "../loop/controller.ts";
import { fetchReadable } from "./fetch-readable.ts";

/**
 * Our own writes that the cache does not show yet, by the object's uid. A controller that counts objects waits until
 * none is left; otherwise, it would recreate an object that a stale cache lacks
 * (docs/kubernetes-rules.md#expectations).
 *
 * kube-controller-manager counts watch events instead. Matching by uid never mistakes one object's event for another's.
 * An object that remains missing from the cache is requested from the API, because it may have been deleted since.
 */
export type Expectations = ReadonlyMap<string, Expected>;

interface Expected {
  readonly key: string;
  /** The resourceVersion after our write; undefined if we deleted the object. */
  readonly version: string | undefined;
  /** When the write succeeded. */
  readonly at: Instant;
  /** Number of reads that confirmed the object, and the time of the last; undefined before the first such read. */
  readonly confirmed?: { readonly times: number; readonly at: Instant };
}

export const nothingExpected: Expectations = new Map();

/**
 * The expectation of a deletion is dropped after this time. kube-controller-manager does the same with every
 * expectation.
 */
const dropAfter: Millis = 300_000;
/**
 * A watch that keeps up delivers our own writes within `first`; after that, the API is asked at growing intervals. A
 * webhook may have made the object so large that the cache will never show it.
 */
const checks = { first: 2000, max: 300_000 } as const;
/** Maximum number of requests to the API in one pass. */
const maxRequests = 16;

/** How soon to check again while something is expected, even without a change. */
export const expectationRecheck: Millis = checks.first;

/** Adds the successful writes among these outcomes that concern objects of this resource. */
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

/**
 * The expectations that the cache does not meet yet. Overdue creations and updates are checked in the API. They remain
 * expected while the API has a newer object than the cache; otherwise, the object would be created again and again.
 */
export async function outstanding<T extends KubeObject>(
  expected: Expectations,
  resource: Resource<T>,
  site: SiteView,
): Promise<Expectations> {
  const left = new Map<string, Expected>();
  let requests = 0;
  for (const [uid, one] of await site.inTurns(unmet(expected, resource, site))) {
    if (!isDue(one, site.now) || requests === maxRequests) {
      left.set(uid, one);
      continue;
    }
    requests++;
    const live = await fetchReadable(site, resource, one.key);
    if (live !== "unreadable" && !isAhead(live, uid, site.lister(resource).get(one.key))) continue;
    left.set(uid, { ...one, confirmed: { times: (one.confirmed?.times ?? 0) + 1, at: site.now } });
  }
  return left;
}

function* unmet<T extends KubeObject>(
  expected: Expectations,
  resource: Resource<T>,
  site: SiteView,
): Steps<readonly (readonly [uid: string, Expected])[]> {
  const found: (readonly [string, Expected])[] = [];
  for (const [index, [uid, one]] of [...expected].entries()) {
    if (endsStep(index)) yield;
    const isDropped = one.version === undefined && elapsed(one.at, site.now) >= dropAfter;
    if (!isDropped && !isMet(uid, one, site.lister(resource).get(one.key))) found.push([uid, one]);
  }
  return found;
}

function isDue({ version, at, confirmed }: Expected, now: Instant): boolean {
  if (version === undefined) return false;
  return elapsed(confirmed?.at ?? at, now) >= backoff((confirmed?.times ?? 0) + 1, checks);
}

/** Whether the API has our object in a newer version than the cache. A restored server may have an older one. */
const isAhead = (live: KubeObject | undefined, uid: string, cached: KubeObject | undefined): boolean =>
  live?.metadata.uid === uid &&
  (cached === undefined || compareVersions(cached.metadata.resourceVersion, live.metadata.resourceVersion) < 0);

function isMet(uid: string, { version }: Expected, cached: KubeObject | undefined): boolean {
  if (version === undefined) return cached?.metadata.uid !== uid || cached.metadata.deletionTimestamp !== undefined;
  return cached !== undefined && compareVersions(cached.metadata.resourceVersion, version) >= 0;
}
