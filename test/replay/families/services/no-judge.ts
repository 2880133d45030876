import type { BoardVerdictDeps } from "../../../../agent/controllers/board-verdicts.ts";
import { lifecycleSettings } from "../../settings.ts";

/** No controller judges the boards. */
export const noJudge: BoardVerdictDeps = { settings: lifecycleSettings({}), judge: () => "no judge" };
