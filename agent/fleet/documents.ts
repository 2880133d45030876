import { createHash } from "node:crypto";
import type { Instant, Millis } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";
import type { JsonRecord } from "../base/json.ts";
import type { ClockState } from "../board/clock-sync.ts";
import type { FleetEvent } from "./fleet-events.ts";
import { boardTopic, type Identity, siteTopic } from "./topics.ts";

/** When a document was made, and whether the clock was synchronised: without a battery clock it may be decades off. */
export interface Stamp {
  readonly at: string;
  readonly clock: ClockState;
}

export const stampOf = (now: Instant, clock: ClockState): Stamp => ({ at: isoTime(now.wall), clock });

/** One connection within one boot. Readers ignore an `offline` with a lower session number than the last `online`. */
export interface Session {
  readonly number: number;
  readonly bootId: string;
}

export type Cause = "connect" | "stop" | "reload" | "lost";

/** The will is fixed at connect time, so it has no timestamp. */
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

/** Builds an event. `seq` numbers this board's events without gaps, so that readers notice lost ones. */
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

/** The leader's own announcement. Among several, the one with the highest (term, seq) counts. */
export const leaderDocument = (
  about: { readonly holder: string | null; readonly term: number; readonly seq: number; readonly since?: string },
  stamp: Stamp,
): string => JSON.stringify({ v: 1, ...about, ...stamp });

/** Equal documents have equal hashes, whenever they were made. */
export const hashOf = (document: JsonRecord): string =>
  createHash("sha256").update(JSON.stringify(document)).digest("hex");
