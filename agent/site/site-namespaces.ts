import type { KubeObject } from "../api/meta.ts";
import { namespaces, pods, type Resource, resourceName } from "../api/resources.ts";
import { fieldOf } from "../api/selectors.ts";
import type { Clock } from "../base/clock.ts";
import { WakeSignal } from "../base/concurrency/wake-signal.ts";
import { isWorkload, type SiteScope } from "../informer/scope.ts";
import type { Caches } from "../loop/site-view.ts";
import { FilteredCaches } from "./filtered-caches.ts";
import type { OwnNamespaces, SiteClaims } from "./site-claims.ts";

/**
 * The caches without the workloads of namespaces that are not this site's, or that an older site claims
 * (docs/judgement.md#site-scope). A bound pod belongs to the site of its board, an unbound pod to that of its
 * namespace.
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

/** The namespaces of this site's workloads: see OwnNamespaces. */
export function namespacesOf(caches: Caches, { nodeSelector, namespaceSelector }: SiteScope): OwnNamespaces {
  if (namespaceSelector !== undefined) return caches.informer(namespaces).lister;
  return nodeSelector === undefined ? "every" : "none";
}

const isOfNamespace = (resource: Resource<KubeObject>, object: KubeObject, isPart: boolean): boolean =>
  isWorkload(resource) ||
  (isPart && resourceName(resource) === resourceName(pods) && fieldOf(object, "spec.nodeName") === "");

/**
 * Calls `changed` when a namespace joins or leaves the site, because no event of its workloads would enqueue the keys
 * of the controllers.
 */
export async function followNamespaces(
  clock: Clock,
  { caches, changed }: { readonly caches: Caches; readonly changed: () => void },
  signal: AbortSignal,
): Promise<void> {
  const changes = new WakeSignal(clock);
  const stopListening = caches.informer(namespaces).onChange((group) => {
    if (group.some(({ before, after }) => before === undefined || after === undefined)) changes.ring();
  });
  for (await changes.wait(signal); !signal.aborted; await changes.wait(signal)) changed();
  stopListening();
}
