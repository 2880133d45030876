import type { Pod } from "../../api/core.ts";
import { boardOf, isReady } from "../../api/pods.ts";
import { nodes } from "../../api/resources.ts";
import type { SiteView } from "../../loop/controller.ts";
import { type BoardVerdictDeps, boardVerdicts } from "../board-verdicts.ts";
import { readyOf } from "../node-lifecycle/health.ts";
import type { SilentBoards } from "./readiness.ts";

/** The silent boards among those with pods that are not ready. */
export function silenceOf(pods: readonly Pod[], deps: BoardVerdictDeps, site: SiteView): SilentBoards {
  const verdicts = boardVerdicts(deps, site);
  const boards = new Map<string, ReturnType<typeof verdicts.verdictOn>>();
  for (const board of new Set(pods.flatMap((pod) => (isReady(pod) ? [] : (boardOf(pod) ?? []))))) {
    const node = site.lister(nodes).get(board);
    if (node && readyOf(node)?.status === "Unknown") boards.set(board, verdicts.verdictOn(board));
  }
  return { policy: deps.settings.policy, held: verdicts.held, boards };
}
