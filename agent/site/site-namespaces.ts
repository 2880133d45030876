import type { KubeObject } from "../api/meta.ts";
import { namespaces, pods, type Resource, resourceName } from "../api/resources.ts";
import { fieldOf } from "../api/selectors.ts";
import type { Clock } from "../base/clock.ts";
import { WakeSignal } from "../base/wake-signal.ts";
import { isWorkload, type SiteScope } from "../informer/scope.ts";
import { FilteredCaches } from "./filtered-caches.ts";
import type { OwnNamespaces, SiteClaims } from "./site-claims.ts";
import type { Caches } from "./site-view.ts";

/**
 * The caches without the workloads of namespaces that are not this site's, or that an older site claims
 * (docs/judgement.md#site-scope). A pod that is bound belongs to its board, whatever its namespace; one that waits for
 * a board, to its namespace.
 */
export function siteNamespaces(
  caches: Caches,
  { nodeSelector, namespaceSelector }: SiteScope,
  claims: Pick<SiteClaims, "noNamespaces" | "claimantOfNamespace">,
): Caches {
  const isOurs = (namespace: string): boolean =>
    (namespaceSelector === undefined || caches.informer(namespaces).lister.get(namespace) !== undefined) &&
    claims.claimantOfNamespace(namespace) === undefined;
  return new FilteredCaches(caches, {
    isOpen: () => namespaceSelector === undefined && claims.noNamespaces,
    shows: (resource, object) =>
      !isOfNamespace(resource, object, nodeSelector !== undefined) || isOurs(object.metadata.namespace ?? ""),
  });
}

/** The namespaces whose workloads are a site's. every: none of them is mirrored. none: it has boards of its own, and no workloads. */
export function namespacesOf(caches: Caches, { nodeSelector, namespaceSelector }: SiteScope): OwnNamespaces {
  if (namespaceSelector !== undefined) return caches.informer(namespaces).lister;
  return nodeSelector === undefined ? "every" : "none";
}

const isOfNamespace = (resource: Resource<KubeObject>, object: KubeObject, isPart: boolean): boolean =>
  isWorkload(resource) ||
  (isPart && resourceName(resource) === resourceName(pods) && fieldOf(object, "spec.nodeName") === "");

/** The workloads of a namespace that joins the site were there all the time: nothing else would wake them. */
export async function followNamespaces(
  clock: Clock,
  { caches, changed }: { readonly caches: Caches; readonly changed: () => void },
  signal: AbortSignal,
): Promise<void> {
  const bell = new WakeSignal(clock);
  const deafen = caches.informer(namespaces).onChange((changes) => {
    if (changes.some(({ before, after }) => before === undefined || after === undefined)) bell.ring();
  });
  for (await bell.wait(signal); !signal.aborted; await bell.wait(signal)) changed();
  deafen();
}
