import type { Lease } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { type LabelSelector, parseLabelSelector, SelectorError } from "../api/selectors.ts";
import { inTextOrder } from "../base/text-order.ts";
import type { SiteScope } from "../informer/scope.ts";

/** On the Lease of a site: the label selector of its Nodes, for the leaders of other sites to read. "": all of them. */
const selectorAnnotation = "siteward.dev/node-selector";

/** Likewise the label selector of its namespaces. "": every one. */
const namespacesAnnotation = "siteward.dev/namespace-selector";

/** What a site says of itself on its Lease. */
export const siteAnnotations = (scope: SiteScope): Readonly<Record<string, string>> => ({
  [selectorAnnotation]: scope.nodeSelector ?? "",
  [namespacesAnnotation]: toldNamespaces(scope),
});

const siteLabel = "siteward.dev/site";
const ours = { name: "app.kubernetes.io/managed-by", value: "siteward" };

/** By these the Leases of sites are found. */
export const siteLabels = (site: string): Readonly<Record<string, string>> => ({
  [ours.name]: ours.value,
  [siteLabel]: site,
});
export const siteSelector = `${ours.name}=${ours.value}`;

/** As long as the setting may be. A claim is held against every board, so that its length is time for each of them. */
const longestClaim = 1024;

/** What stands there for a site that looks after no workloads. No selector reads like this. */
const none = "-";

/** A site that has boards of its own and no namespaces has no workloads (docs/judgement.md#site-scope). */
const toldNamespaces = ({ nodeSelector, namespaceSelector }: SiteScope): string =>
  namespaceSelector ?? (nodeSelector === undefined ? "" : none);

/** `undefined`: it claims none. Nor does a site whose version did not say so yet: what it looks after is not known. */
const claimedNamespaces = (told: string | undefined): LabelSelector | undefined =>
  told === undefined || told === none ? undefined : parseLabelSelector(told, longestClaim);

/** A site that was on this API server before ours, and what it says of its boards and namespaces. */
export interface Claim {
  readonly site: string;
  /** The key of its Lease. */
  readonly lease: string;
  readonly selector: LabelSelector;
  /** undefined: it looks after no workloads. */
  readonly namespaces: LabelSelector | undefined;
  /** The same, as it is written. */
  readonly told: string | undefined;
}

/** What is read of the Lease of a site. */
export interface SiteLease {
  readonly key: string;
  readonly uid: string;
  readonly created: string;
  readonly site: string;
  readonly selector: string;
  readonly namespaces: string | undefined;
}

/** A Lease without a selector on it says nothing about boards. */
export function siteLeaseOf({ metadata }: Lease): readonly SiteLease[] {
  const { uid, name, labels, annotations, creationTimestamp: created = "" } = metadata;
  const { [selectorAnnotation]: selector, [namespacesAnnotation]: told } = annotations ?? {};
  return selector === undefined
    ? []
    : [{ key: keyOf({ metadata }), uid, created, site: labels?.[siteLabel] ?? name, selector, namespaces: told }];
}

/**
 * The claims that go before ours, the oldest first. Times of creation are compared as text: one server wrote them all, and
 * their order is all that is wanted. Where our own Lease is not among them, every other one goes before it.
 */
export function olderClaims(
  found: readonly SiteLease[],
  own: string,
  unreadable: (lease: string, error: SelectorError) => void,
): readonly Claim[] {
  const mine = found.find(({ key }) => key === own);
  return found
    .filter((lease) => lease.key !== own && (mine === undefined || order(lease, mine) < 0))
    .sort(order)
    .flatMap(({ site, key, selector, namespaces: told }) => {
      try {
        const claimed = claimedNamespaces(told);
        return [{ site, lease: key, selector: parseLabelSelector(selector, longestClaim), namespaces: claimed, told }];
      } catch (error) {
        if (!(error instanceof SelectorError)) throw error;
        unreadable(key, error);
        return [];
      }
    });
}

export const order = (a: SiteLease, b: SiteLease): number =>
  inTextOrder(a.created, b.created) || inTextOrder(a.uid, b.uid);
