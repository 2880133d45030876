import type { BoardVerdictDeps } from "../controllers/board-verdicts.ts";
import { noRecollection, type Recollection } from "../controllers/node-lifecycle/recollection.ts";
import type { Budget } from "../controllers/node-lifecycle/zones/budget.ts";
import type { ControllerDeps } from "../controllers/registry.ts";
import type { Term } from "../execution/fence.ts";
import type { ShadowLoopsDeps } from "./control-loops.ts";

/** The site as controllers that only pretend to write read and write it. */
export interface TermShadow extends Omit<ShadowLoopsDeps, keyof ControllerDeps> {
  /**
   * Follows the site until the term ends, and then forgets what was pretended. `isBehind`: whether the caches of Nodes
   * and pods may still lack something from before the term.
   */
  readonly run: (term: Term, isBehind: () => boolean) => Promise<void>;
  /** On what these controllers base their verdicts. `acting`: the same for controllers that act. */
  readonly verdictDeps: (acting: BoardVerdictDeps) => BoardVerdictDeps;
}

export type LoadShadow = () => Promise<TermShadow>;

/** What the controllers of a term take over from earlier terms. */
export interface Former {
  readonly inherited: () => Budget | undefined;
  readonly recalled: Recollection;
}

export const nothingFormer: Former = { inherited: () => undefined, recalled: noRecollection };
