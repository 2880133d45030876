import { apiRestart } from "./shipped/api-restart.ts";
import { boardOutage } from "./shipped/board-outage.ts";
import { flappingLink } from "./shipped/flapping-link.ts";
import { leaderLoss } from "./shipped/leader-loss.ts";
import { rollingUpdate } from "./shipped/rolling-update.ts";
import { zoneOutage } from "./shipped/zone-outage.ts";

/**
 * The scenarios shipped with the program, by name. They are YAML inside modules, so that they are part of the program's
 * bundle and available wherever it is installed, without accompanying files.
 */
export const shippedScenarios: ReadonlyMap<string, string> = new Map([
  ["board-outage", boardOutage],
  ["zone-outage", zoneOutage],
  ["leader-loss", leaderLoss],
  ["flapping-link", flappingLink],
  ["api-restart", apiRestart],
  ["rolling-update", rollingUpdate],
]);
