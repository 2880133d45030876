import type { Lease } from "../api/core.ts";
import { keyOf } from "../api/meta.ts";
import { type LabelSelector, parseLabelSelector, SelectorError } from "../api/selectors.ts";
import { inTextOrder } from "../base/text-order.ts";
import type { SiteScope } from "../informer/scope.ts";

/** Annotation of a site's Lease: the label selector of its Nodes, for the leaders of other sites. "": all Nodes. */
const selectorAnnotation = "siteward.dev/node-selector";

/** Likewise the label selector of its namespaces. "": all namespaces. */
const namespacesAnnotation = "siteward.dev/namespace-selector";

/** The claims that a site writes on its Lease. */
export const siteAnnotations = (scope: SiteScope): Readonly<Record<string, string>> => ({
  [selectorAnnotation]: scope.nodeSelector ?? "",
  [namespacesAnnotation]: toldNamespaces(scope),
});

const siteLabel = "siteward.dev/site";
const ours = { name: "app.kubernetes.io/managed-by", value: "siteward" };

/** Labels that mark the Leases of sites. */
export const siteLabels = (site: string): Readonly<Record<string, string>> => ({
  [ours.name]: ours.value,
  [siteLabel]: site,
});
export const siteSelector = `${ours.name}=${ours.value}`;

/** As long as the setting may be. A claim is matched against every board, so length is time for each of them. */
const longestClaim = 1024;

/** Stands for a site without workloads. No valid selector reads like this. */
const none = "-";

/** A site that has boards of its own and no namespaces has no workloads (docs/judgement.md#site-scope). */
const toldNamespaces = ({ nodeSelector, namespaceSelector }: SiteScope): string =>
  namespaceSelector ?? (nodeSelector === undefined ? "" : none);

/** `undefined`: no workloads are claimed. That includes sites of an older version, whose namespaces are not known. */
const claimedNamespaces = (told: string | undefined): LabelSelector | undefined =>
  told === undefined || told === none ? undefined : parseLabelSelector(told, longestClaim);

/** A site that was on this API server before ours, with its claims on boards and namespaces. */
export interface Claim {
  readonly site: string;
  /** The key of its Lease. */
  readonly lease: string;
  readonly selector: LabelSelector;
  /** undefined: it has no workloads. */
  readonly namespaces: LabelSelector | undefined;
  /** The namespace selector as it is written. */
  readonly told: string | undefined;
}

/** The fields of a site's Lease that matter here. */
export interface SiteLease {
  readonly key: string;
  readonly uid: string;
  readonly created: string;
  readonly site: string;
  readonly selector: string;
  readonly namespaces: string | undefined;
}

/** A Lease without a selector on it claims no boards. */
export function siteLeaseOf({ metadata }: Lease): readonly SiteLease[] {
  const { uid, name, labels, annotations, creationTimestamp: created = "" } = metadata;
  const { [selectorAnnotation]: selector, [namespacesAnnotation]: told } = annotations ?? {};
  return selector === undefined
    ? []
    : [{ key: keyOf({ metadata }), uid, created, site: labels?.[siteLabel] ?? name, selector, namespaces: told }];
}

/**
 * The claims that go before ours, oldest first. Creation times are compared as text: one server wrote them all, and
 * only their order matters. If our own Lease is not among them, every other one goes before it.
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
