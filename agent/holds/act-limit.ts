import { elapsed, type Instant, type Millis } from "../base/clock.ts";

/** How many acts the valve permits in an hour; Infinity while an operator has released it. */
export type ActLimit = (now: Instant) => number;

/** The default limit: this number of acts, or this share of the site's pods if that is more. */
const leastActs = 10;
const shareOfPods = 0.2;
/** How long the number of pods is reused, because the limit is needed for each act. */
const countedFor: Millis = 10_000;

/** The limit by the setting, or else by the number of the site's pods that have not ended. */
export function actLimit(setting: number | undefined, sitePods: () => number): ActLimit {
  if (setting !== undefined) return () => setting;
  let counted: { readonly at: Instant; readonly limit: number } | undefined;
  return (now) => {
    if (counted === undefined || elapsed(counted.at, now) >= countedFor) {
      counted = { at: now, limit: Math.max(leastActs, Math.floor(shareOfPods * sitePods())) };
    }
    return counted.limit;
  };
}
