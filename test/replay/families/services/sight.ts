import type { SightParts } from "../../../../agent/controllers/board-verdicts.ts";
import { lifecycleSettings } from "../../settings.ts";

/** Nobody judges the boards. */
export const nobodyJudges: SightParts = { settings: lifecycleSettings({}), judge: () => "by nobody" };
