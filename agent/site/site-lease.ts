import type { Lease } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { type LabelSelector, parseLabelSelector, SelectorError } from "../api/selectors.ts";
import { inTextOrder } from "../base/text/text-order.ts";
import type { SiteScope } from "../informer/scope.ts";

/** Annotation of a site's Lease, for the leaders of other sites: the label selector of its Nodes; "" for all Nodes. */
const selectorAnnotation = "siteward.dev/node-selector";

/** Annotation of a site's Lease: the label selector of its namespaces; "" for all namespaces. */
const namespacesAnnotation = "siteward.dev/namespace-selector";

/** The annotations with the claims of a site. */
export const siteAnnotations = (scope: SiteScope): Readonly<Record<string, string>> => ({
  [selectorAnnotation]: scope.nodeSelector ?? "",
  [namespacesAnnotation]: namespaceClaim(scope),
});

const siteLabel = "siteward.dev/site";
const ours = { name: "app.kubernetes.io/managed-by", value: "siteward" };

/** Labels that mark the Leases of sites. */
export const siteLabels = (site: string): Readonly<Record<string, string>> => ({
  [ours.name]: ours.value,
  [siteLabel]: site,
});
export const siteSelector = `${ours.name}=${ours.value}`;

/**
 * Maximum length of a claim that is read, in characters: that of the longest selector that the settings permit. This
 * limits the time for matching the claim against all boards.
 */
const maxClaimLength = 1024;

/** Value of the annotation for a site without workloads. It is not a valid selector. */
const none = "-";

/**
 * The claim on namespaces. A site with a node selector and no namespace selector has no workloads
 * (docs/judgement.md#site-scope).
 */
const namespaceClaim = ({ nodeSelector, namespaceSelector }: SiteScope): string =>
  namespaceSelector ?? (nodeSelector === undefined ? "" : none);

/**
 * The selector in an annotation; undefined if it claims no workloads. Sites with an older program version have no
 * annotation, and count as claiming no workloads.
 */
const claimedNamespaces = (annotation: string | undefined): LabelSelector | undefined =>
  annotation === undefined || annotation === none ? undefined : parseLabelSelector(annotation, maxClaimLength);

/** The claims of a site that is older than this one. */
export interface SiteClaim {
  readonly site: string;
  /** The key of its Lease. */
  readonly lease: string;
  /** The label selector of its boards. */
  readonly selector: LabelSelector;
  /** The label selector of its namespaces; undefined if it has no workloads. */
  readonly namespaces: LabelSelector | undefined;
  /** The text of the annotation with the label selector of its namespaces; undefined without one. */
  readonly namespaceSelector: string | undefined;
}

/** The fields of a site's Lease that claims depend on. */
export interface SiteLease {
  readonly key: string;
  readonly uid: string;
  /** The creationTimestamp. */
  readonly created: string;
  /** The name of the site. */
  readonly site: string;
  /** The label selector of its boards. */
  readonly selector: string;
  /** The label selector of its namespaces; undefined without the annotation. */
  readonly namespaces: string | undefined;
}

/** The fields of a Lease, or none if it has no selector and so claims no boards. */
export function siteLeaseOf({ metadata }: Lease): readonly SiteLease[] {
  const { uid, name, labels, annotations, creationTimestamp: created = "" } = metadata;
  const { [selectorAnnotation]: selector, [namespacesAnnotation]: namespaces } = annotations ?? {};
  return selector === undefined
    ? []
    : [{ key: keyOf({ metadata }), uid, created, site: labels?.[siteLabel] ?? name, selector, namespaces }];
}

/**
 * The claims of sites that are older than this one, oldest first. Creation times are compared as text, because the same
 * server wrote them all and only their order matters. If this site has no Lease yet, all others are older.
 */
export function olderClaims(
  found: readonly SiteLease[],
  own: string,
  unreadable: (lease: string, error: SelectorError) => void,
): readonly SiteClaim[] {
  const mine = found.find(({ key }) => key === own);
  return found
    .filter((lease) => lease.key !== own && (mine === undefined || order(lease, mine) < 0))
    .sort(order)
    .flatMap(({ site, key, selector, namespaces: namespaceSelector }) => {
      try {
        const namespaces = claimedNamespaces(namespaceSelector);
        return [
          { site, lease: key, selector: parseLabelSelector(selector, maxClaimLength), namespaces, namespaceSelector },
        ];
      } catch (error) {
        if (!(error instanceof SelectorError)) throw error;
        unreadable(key, error);
        return [];
      }
    });
}

/** Sorts the Leases of sites by age. */
export const order = (a: SiteLease, b: SiteLease): number =>
  inTextOrder(a.created, b.created) || inTextOrder(a.uid, b.uid);
