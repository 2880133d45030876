import type { JsonRecord } from "../base/json.ts";

export type Severity = "debug" | "info" | "warning" | "critical";

/** Something that happened and that the fleet should know of. */
export interface FleetEvent {
  /** The last level of its topic: "identity.duplicate", "outbox.dropped". */
  readonly type: string;
  readonly severity: Severity;
  /** The board, pod or zone that it is about. */
  readonly subject?: string;
  readonly detail: JsonRecord;
  /** The leader tells it for the site: of zones, evictions, fail-overs. */
  readonly isOfSite?: boolean;
}

/** Where parts of the program tell what happened. Telling never fails and never waits. */
export interface FleetEventSink {
  note(event: FleetEvent): void;
}
