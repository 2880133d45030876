import { apiRestart } from "./api-restart.ts";
import { boardOutage } from "./board-outage.ts";
import { flappingLink } from "./flapping-link.ts";
import { leaderLoss } from "./leader-loss.ts";
import { rollingUpdate } from "./rolling-update.ts";
import { zoneOutage } from "./zone-outage.ts";

/**
 * The scenarios that come with the program, by name. They are YAML inside of modules: the program is shipped as one bundle,
 * and a text that is part of it is found wherever it was installed, also where a file beside it would be missing.
 */
export const shippedScenarios: ReadonlyMap<string, string> = new Map([
  ["board-outage", boardOutage],
  ["zone-outage", zoneOutage],
  ["leader-loss", leaderLoss],
  ["flapping-link", flappingLink],
  ["api-restart", apiRestart],
  ["rolling-update", rollingUpdate],
]);
