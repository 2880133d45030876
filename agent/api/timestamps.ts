import type { Instant } from "../base/clock.ts";
import { isoTime } from "../base/time/iso-time.ts";

/**
 * Formats a metav1.Time: RFC 3339 with seconds. There is no parser, because timestamps from other machines are only
 * compared for change. Two rules read one as a time, and explain why: `registeredAt` in
 * controllers/node-lifecycle/health.ts and `untilAvailable` in controllers/daemonset/availability.ts.
 */
export const timestamp = (now: Instant): string => `${isoTime(now.wall).slice(0, 19)}Z`;

/** Formats a metav1.MicroTime, as used in Leases. */
export const microTimestamp = (now: Instant): string => `${isoTime(now.wall).slice(0, 23)}000Z`;
