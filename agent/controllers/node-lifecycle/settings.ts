import type { Millis } from "../../base/clock.ts";
import type { Config } from "../../config/settings.ts";
import type { WatchLimits } from "../../informer/watch-health.ts";
import type { Policy } from "../../judgement/verdict.ts";

/** What the judging of boards depends on, as far as a person may set it. Rates are boards per second and zone. */
export interface NodeLifecycleSettings extends WatchLimits {
  readonly policy: Policy;
  readonly monitorPeriod: Millis;
  readonly gracePeriod: Millis;
  readonly startupGracePeriod: Millis;
  readonly evictionRate: number;
  readonly secondaryRate: number;
  /** A zone with more boards than this is large. */
  readonly largeZone: number;
  /** The share of boards from which on a zone is partly disrupted. */
  readonly unhealthyZone: number;
  /** After a quarantine evictions go at the secondary rate for so long. */
  readonly recovery: Millis;
}

/** Its slice of the configuration. */
export const lifecycleSettings = ({ judgement, nodeLifecycle, link }: Config): NodeLifecycleSettings => ({
  ...nodeLifecycle,
  ...judgement,
  stall: link.watchStall,
  blip: link.blip,
});
