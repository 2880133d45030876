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
 * The caches without workloads of namespaces that are not this site's, or that an older site claims
 * (docs/judgement.md#site-scope). A bound pod belongs to its board, whatever its namespace; a pod that waits for a
 * board belongs to its namespace.
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

/** Namespaces of this site's workloads. every: all, and none is mirrored. none: it has boards and no workloads. */
export function namespacesOf(caches: Caches, { nodeSelector, namespaceSelector }: SiteScope): OwnNamespaces {
  if (namespaceSelector !== undefined) return caches.informer(namespaces).lister;
  return nodeSelector === undefined ? "every" : "none";
}

const isOfNamespace = (resource: Resource<KubeObject>, object: KubeObject, isPart: boolean): boolean =>
  isWorkload(resource) ||
  (isPart && resourceName(resource) === resourceName(pods) && fieldOf(object, "spec.nodeName") === "");

/** Calls `changed` when a namespace joins or leaves: its workloads did not change, so nothing else would wake them. */
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
