import type { Millis } from "../../base/clock.ts";
import type { Config } from "../../config/settings.ts";
import type { WatchLimits } from "../../informer/watch-health.ts";
import type { Policy } from "../../judgement/verdict.ts";

/** Settings for judging boards. Rates are boards per second in one zone. */
export interface NodeLifecycleSettings extends WatchLimits {
  readonly policy: Policy;
  /** The Node of the board that this agent runs on; undefined if the judge runs on none of the boards. */
  readonly ownNode: string | undefined;
  readonly monitorPeriod: Millis;
  readonly gracePeriod: Millis;
  readonly startupGracePeriod: Millis;
  readonly evictionRate: number;
  readonly secondaryRate: number;
  /** A zone with more boards than this counts as large. */
  readonly largeZone: number;
  /** Share of unready boards, between 0 and 1, from which a zone counts as partly disrupted. */
  readonly unhealthyZone: number;
  /** How long the pods of a silent board are held if questions on the LAN show nothing about it. */
  readonly unprovenHold: Millis;
  /** How long the boards of a zone that were lost together are not tainted. */
  readonly zoneHold: Millis;
  /** How long the pods of a board that answers on the LAN without its kubelet are held. */
  readonly unmanagedHold: Millis;
  /** How long evictions proceed at the secondary rate after a quarantine. */
  readonly recovery: Millis;
}

/** The part of the configuration that concerns the judgement of boards. */
export const lifecycleSettings = ({ board, judgement, nodeLifecycle, link }: Config): NodeLifecycleSettings => ({
  ...nodeLifecycle,
  ...judgement,
  ownNode: board.node,
  stall: link.watchStall,
  blip: link.blip,
});
