import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import type { Random } from "./random.ts";

/** Things that every part may use: time, randomness and a logger. */
export interface Ambient {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
