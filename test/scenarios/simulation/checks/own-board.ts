import type { History } from "../history.ts";
import { type Act, actText } from "./acts.ts";

/** Under policy `evidence` a leader never taints its own board, nor evicts a pod from it or marks one not ready. */
export function checkOwnBoard({ setting, processes }: History, acts: readonly Act[]): readonly string[] {
  if (setting.policy !== "evidence") return [];
  return acts
    .filter(({ is, board, process }) => is !== "unknown" && processes.get(process)?.board === board)
    .map((act) => `own board: ${actText(act)}`);
}
