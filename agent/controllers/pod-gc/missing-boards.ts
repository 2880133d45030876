import { placeOf } from "../../api/index-values.ts";
import { nodes, pods } from "../../api/resources.ts";
import { endsStep, type Steps } from "../../base/steps.ts";
import type { SiteView } from "../../loop/controller.ts";

/** A board that pods name and that has no Node in the cache. */
export interface MissingBoard {
  readonly name: string;
  /** The namespaces of its pods. */
  readonly namespaces: readonly string[];
}

/**
 * The boards without a Node that pods name. Pods that only finalizers keep are ignored, because they are never deleted.
 */
export function* missingBoards(site: SiteView): Steps<readonly MissingBoard[]> {
  const missing: { readonly name: string; readonly namespaces: string[] }[] = [];
  let index = 0;
  for (const value of site.lister(pods).indexValues("byPlace")) {
    const { board, namespace } = placeOf(value);
    const last = missing.at(-1);
    if (last?.name === board) last.namespaces.push(namespace);
    else if (site.lister(nodes).get(board) === undefined) missing.push({ name: board, namespaces: [namespace] });
    if (endsStep(index++)) yield;
  }
  return missing;
}
