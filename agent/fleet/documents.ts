import { createHash } from "node:crypto";
import type { Instant, Millis } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";
import type { JsonRecord } from "../base/json.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { FleetEvent } from "./fleet-events.ts";
import { boardTopic, type Identity, siteTopic } from "./topics.ts";

/** When a document was made, and what that time is worth: on a board without a battery clock it may be decades off. */
export interface Stamp {
  readonly at: string;
  readonly clock: ClockState;
}

export const stampOf = (now: Instant, clock: ClockState): Stamp => ({ at: isoTime(now.wall), clock });

/** One connection of one boot. Whoever reads `offline` with a session below that of the last `online` ignores it. */
export interface Session {
  readonly number: number;
  readonly bootId: string;
}

export type Cause = "connect" | "stop" | "reload" | "lost";

/** The will's words are fixed when the connection is made, so it has no time. */
export const presence = (
  state: "online" | "offline",
  { number, bootId }: Session,
  cause: Cause,
  stamp?: Stamp,
): string => JSON.stringify({ v: 1, state, session: number, bootId, cause, ...stamp });

const day: Millis = 86_400_000;
export const timeToLive = {
  birth: 7 * day,
  event: day,
  criticalEvent: 7 * day,
} as const;

export const severities = ["debug", "info", "warning", "critical"] as const;

/** An event as its topic has it. `seq` counts this board's events without gaps: who misses one knows it. */
export function eventDocument(
  identity: Identity,
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

/** Who leads, as the leader itself says. Of several the one with the highest (term, seq) is right. */
export const leaderDocument = (
  about: { readonly holder: string | null; readonly term: number; readonly seq: number; readonly since?: string },
  stamp: Stamp,
): string => JSON.stringify({ v: 1, ...about, ...stamp });

/** The same text for the same content, whatever was written when. */
export const hashOf = (document: JsonRecord): string =>
  createHash("sha256").update(JSON.stringify(document)).digest("hex");
