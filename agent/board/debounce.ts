import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** A sign that comes and goes, told only where it lasts. */
export interface Sign {
  /** When it was last seen. */
  readonly seen: Instant | undefined;
  /** Since when it stands; undefined: it does not. */
  readonly since: Instant | undefined;
  /** How often it began. */
  readonly times: number;
  /** At the last look. */
  readonly isNow: boolean;
}

export const unseen: Sign = { seen: undefined, since: undefined, times: 0, isNow: false };

/**
 * A sign stands when it was seen twice within `within`, and as long as it is seen again within that time: a spike is none,
 * and one that flickers is one and not many.
 */
export function looked(sign: Sign, isSeen: boolean, now: Instant, within: Millis): Sign {
  const isRecent = sign.seen !== undefined && elapsed(sign.seen, now) <= within;
  if (!isSeen) return { ...sign, since: isRecent ? sign.since : undefined, isNow: false };
  return {
    seen: now,
    since: isRecent ? (sign.since ?? sign.seen) : undefined,
    times: sign.times + (sign.isNow ? 0 : 1),
    isNow: true,
  };
}
