import { createHash } from "node:crypto";
import type { Instant, Millis } from "../../base/clock.ts";
import type { JsonRecord } from "../../base/json.ts";
import { isoTime } from "../../base/time/iso-time.ts";
import type { ClockState } from "../../board/clock-sync.ts";
import { boardTopic, type FleetIdentity, siteTopic } from "../mqtt/topics.ts";
import type { FleetEvent } from "./fleet-events.ts";

/** When a document was written. */
export interface Stamp {
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Whether the clock was synchronised; if not, `at` may be decades off on a board without a battery clock. */
  readonly clock: ClockState;
}

export const stampOf = (now: Instant, clock: ClockState): Stamp => ({ at: isoTime(now.wall), clock });

/** One connection within one boot. Readers ignore an `offline` with a lower session number than the last `online`. */
export interface Session {
  readonly number: number;
  readonly bootId: string;
}

export type PresenceCause = "connect" | "stop" | "reload" | "lost";

/** The presence document. The will has no `stamp`, because it is written long before the broker publishes it. */
export const presence = (
  state: "online" | "offline",
  { number, bootId }: Session,
  cause: PresenceCause,
  stamp?: Stamp,
): string => JSON.stringify({ v: 1, state, session: number, bootId, cause, ...stamp });

const day: Millis = 86_400_000;
export const timeToLive = {
  birth: 7 * day,
  event: day,
  criticalEvent: 7 * day,
} as const;

export const severities = ["debug", "info", "warning", "critical"] as const;

/**
 * The document of an event. `seq` numbers the events of this board without gaps, so that readers notice missing ones.
 */
export function eventDocument(
  identity: FleetIdentity,
  { type, severity, subject, detail, isOfSite }: FleetEvent,
  about: { readonly seq: number; readonly bootId: string; readonly stamp: Stamp },
): { readonly topic: string; readonly payload: string } {
  const { seq, bootId, stamp } = about;
  const topicOf = isOfSite ? siteTopic : boardTopic;
  return {
    topic: topicOf(identity, `event/${type}`),
    payload: JSON.stringify({ v: 1, type, severity, seq, board: identity.board, bootId, subject, detail, ...stamp }),
  };
}

/**
 * The announcement that a board leads. If there are several announcements, the one with the highest (term, seq)
 * applies.
 */
export const leaderDocument = (
  about: { readonly holder: string | null; readonly term: number; readonly seq: number; readonly since?: string },
  stamp: Stamp,
): string => JSON.stringify({ v: 1, ...about, ...stamp });

/** The SHA-256 of a document without its stamp. */
export const hashOf = (document: JsonRecord): string =>
  createHash("sha256").update(JSON.stringify(document)).digest("hex");
