import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** A sign of trouble that may come and go, filtered over time. It is in effect only while it lasts or recurs. */
export interface DebouncedSymptom {
  /** When a sample last showed the sign; undefined if none has. */
  readonly seen: Instant | undefined;
  /** When the sign took effect; undefined while it is not in effect. */
  readonly since: Instant | undefined;
  /** When the sign was last both in effect and shown by a sample; undefined if it never was. */
  readonly stood: Instant | undefined;
  /**
   * The sign is in effect until `patience` times `within` have passed since `seen`. 1 at first, doubled by recurrence.
   */
  readonly patience: number;
  /** How many times the sign appeared in a sample after being absent from the previous one. */
  readonly times: number;
  /** Whether the last sample showed the sign. */
  readonly isNow: boolean;
}

export const unseen: DebouncedSymptom = {
  seen: undefined,
  since: undefined,
  stood: undefined,
  patience: 1,
  times: 0,
  isNow: false,
};

const maxPatience = 32;

/**
 * The sign after a sample. It takes effect once two samples within `within` have shown it, and stays in effect until no
 * sample has shown it for `within` times its patience, so a single spike is ignored, and a flickering sign counts as
 * one continuous sign. Each time it takes effect again, the patience doubles, up to `maxPatience`, so that a sign that
 * recurs slowly soon stays in effect without interruption. After an absence of `maxPatience` times `within`, the
 * patience is 1 again.
 */
export function recordSample(sign: DebouncedSymptom, isSeen: boolean, now: Instant, within: Millis): DebouncedSymptom {
  const stands = sign.since !== undefined && isWithin(sign.patience * within, sign.seen, now);
  if (!isSeen) return { ...sign, since: stands ? sign.since : undefined, isNow: false };
  const times = sign.times + (sign.isNow ? 0 : 1);
  const seen = { ...sign, seen: now, times, isNow: true };
  if (stands) return { ...seen, stood: now };
  if (!isWithin(within, sign.seen, now)) return { ...seen, since: undefined };
  const isBack = isWithin(maxPatience * within, sign.stood, now);
  return { ...seen, since: sign.seen, stood: now, patience: isBack ? Math.min(2 * sign.patience, maxPatience) : 1 };
}

const isWithin = (time: Millis, at: Instant | undefined, now: Instant): boolean =>
  at !== undefined && elapsed(at, now) <= time;
