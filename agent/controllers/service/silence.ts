import type { Pod } from "../../api/core.ts";
import { boardOf } from "../../api/pods.ts";
import { nodes } from "../../api/resources.ts";
import type { SiteView } from "../../loop/controller.ts";
import { type SightParts, sightOf } from "../board-verdicts.ts";
import { readyOf } from "../node-lifecycle/health.ts";
import { isReady } from "./eligible.ts";
import type { Silence } from "./readiness.ts";

/** Reads the boards of the pods that are not ready. */
export function silenceOf(pods: readonly Pod[], parts: SightParts, site: SiteView): Silence {
  const sight = sightOf(parts, site);
  const boards = new Map<string, ReturnType<typeof sight.verdictOn>>();
  for (const board of new Set(pods.flatMap((pod) => (isReady(pod) ? [] : (boardOf(pod) ?? []))))) {
    const node = site.lister(nodes).get(board);
    if (node && readyOf(node)?.status === "Unknown") boards.set(board, sight.verdictOn(board));
  }
  return { policy: parts.settings.policy, held: sight.held, boards };
}
