import type { Millis } from "../../base/clock.ts";
import type { Config } from "../../config/settings.ts";
import type { WatchLimits } from "../../informer/watch-health.ts";
import type { Policy } from "../../judgement/verdict.ts";

/** Settings for judging boards. Rates are boards per second and zone. */
export interface NodeLifecycleSettings extends WatchLimits {
  readonly policy: Policy;
  readonly monitorPeriod: Millis;
  readonly gracePeriod: Millis;
  readonly startupGracePeriod: Millis;
  readonly evictionRate: number;
  readonly secondaryRate: number;
  /** A zone with more boards than this counts as large. */
  readonly largeZone: number;
  /** Share of boards that are not ready from which a zone counts as partly disrupted. */
  readonly unhealthyZone: number;
  /** How long evictions go at the secondary rate after a quarantine. */
  readonly recovery: Millis;
}

/** The controller's slice of the configuration. */
export const lifecycleSettings = ({ judgement, nodeLifecycle, link }: Config): NodeLifecycleSettings => ({
  ...nodeLifecycle,
  ...judgement,
  stall: link.watchStall,
  blip: link.blip,
});
