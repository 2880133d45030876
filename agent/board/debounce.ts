import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** A sign that comes and goes, told only where it lasts. */
export interface Sign {
  /** When it was last seen. */
  readonly seen: Instant | undefined;
  /** Since when it stands; undefined: it does not. */
  readonly since: Instant | undefined;
  /** When it was last seen and stood. */
  readonly stood: Instant | undefined;
  /** How many times as long as at first it stands after it was seen. */
  readonly patience: number;
  /** How often it began. */
  readonly times: number;
  /** At the last look. */
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
 * A sign stands when it was seen twice within `within`, and as long as it is seen again within that time: a spike is none,
 * and one that flickers is one and not many. Where it was over and comes back it stands twice as long the next time, up to
 * `mostPatience` times: what comes and goes in whatever rhythm soon stands steadily. One that stayed away for so long begins anew.
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
