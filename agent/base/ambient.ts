import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import type { Random } from "./random.ts";

/** What every part may rely on: time, chance and a place to speak. */
export interface Ambient {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
