import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** A sign that comes and goes; it stands only if it lasts. */
export interface Sign {
  /** When it was last seen. */
  readonly seen: Instant | undefined;
  /** Since when it stands; undefined: it does not. */
  readonly since: Instant | undefined;
  /** When it was last seen while it stood. */
  readonly stood: Instant | undefined;
  /** Factor of the time that it stands after it was last seen; 1 at first. */
  readonly patience: number;
  /** How often it began. */
  readonly times: number;
  /** Whether the last sample showed it. */
  readonly isNow: boolean;
}

export const unseen: Sign = {
  seen: undefined,
  since: undefined,
  stood: undefined,
  patience: 1,
  times: 0,
  isNow: false,
};

const mostPatience = 32;

/**
 * A sign stands once it was seen twice within `within`, and as long as it is seen again within that time: a spike is no
 * sign, and a flickering one is one sign, not many. Each recurrence doubles the time, up to `mostPatience` times
 * `within`: a sign that comes and goes in any rhythm soon stands steadily. One that stayed away that long starts over.
 */
export function looked(sign: Sign, isSeen: boolean, now: Instant, within: Millis): Sign {
  const stands = sign.since !== undefined && isWithin(sign.patience * within, sign.seen, now);
  if (!isSeen) return { ...sign, since: stands ? sign.since : undefined, isNow: false };
  const times = sign.times + (sign.isNow ? 0 : 1);
  const seen = { ...sign, seen: now, times, isNow: true };
  if (stands) return { ...seen, stood: now };
  if (!isWithin(within, sign.seen, now)) return { ...seen, since: undefined };
  const isBack = isWithin(mostPatience * within, sign.stood, now);
  return { ...seen, since: sign.seen, stood: now, patience: isBack ? Math.min(2 * sign.patience, mostPatience) : 1 };
}

const isWithin = (time: Millis, at: Instant | undefined, now: Instant): boolean =>
  at !== undefined && elapsed(at, now) <= time;
