import type { JsonRecord } from "../../base/json.ts";

export type FleetEventSeverity = "debug" | "info" | "warning" | "critical";

/** An event for the fleet. */
export interface FleetEvent {
  /** Last level of the event's topic: "identity.duplicate", "outbox.dropped". */
  readonly type: string;
  readonly severity: FleetEventSeverity;
  /** The board, pod or zone that the event is about. */
  readonly subject?: string;
  readonly detail: JsonRecord;
  /** True if the leader publishes it on the site's topic; by default, it is published on the board's topic. */
  readonly isOfSite?: boolean;
}

/** Accepts events from any part of the program. `note` never throws and never blocks. */
export interface FleetEventSink {
  note(event: FleetEvent): void;
}
