import type { JsonRecord } from "../base/json.ts";

export type Severity = "debug" | "info" | "warning" | "critical";

/** An event for the fleet. */
export interface FleetEvent {
  /** Last level of the event's topic: "identity.duplicate", "outbox.dropped". */
  readonly type: string;
  readonly severity: Severity;
  /** The board, pod or zone concerned. */
  readonly subject?: string;
  readonly detail: JsonRecord;
  /** Published by the leader for the site: zones, evictions, fail-overs. */
  readonly isOfSite?: boolean;
}

/** Accepts events from any part of the program. `note` never fails and never blocks. */
export interface FleetEventSink {
  note(event: FleetEvent): void;
}
