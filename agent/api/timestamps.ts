import type { Instant } from "../base/clock.ts";

/** metav1.Time: RFC 3339 with seconds. Written only; what others wrote is never read as time. */
export const timestamp = (now: Instant): string => `${new Date(now.wall).toISOString().slice(0, 19)}Z`;

/** metav1.MicroTime, as Leases carry it. */
export const microTimestamp = (now: Instant): string => `${new Date(now.wall).toISOString().slice(0, 23)}000Z`;
