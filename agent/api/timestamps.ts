import type { Instant } from "../base/clock.ts";
import { isoTime } from "../base/iso-time.ts";

/** metav1.Time: RFC 3339 with seconds. Write only; timestamps of other machines are never read as time. */
export const timestamp = (now: Instant): string => `${isoTime(now.wall).slice(0, 19)}Z`;

/** metav1.MicroTime, as in Leases. */
export const microTimestamp = (now: Instant): string => `${isoTime(now.wall).slice(0, 23)}000Z`;
