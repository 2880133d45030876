import type { Taint, Toleration } from "../../api/core.ts";
import { tolerates } from "../../api/taints.ts";
import type { Millis } from "../../base/clock.ts";

/** How long a pod may stay on a board with one taint. 0: not tolerated. Infinity: tolerated for good. */
export interface Window {
  readonly taint: Taint;
  readonly length: Millis;
}

/**
 * The first matching toleration decides, even if a later one would allow a longer stay. An unparsable tolerationSeconds
 * counts as absent: never evict because of a value we cannot parse.
 */
export function windowOf(taint: Taint, tolerations: readonly Toleration[] | undefined): Window {
  const matching = tolerations?.find((toleration) => tolerates(toleration, taint));
  if (matching === undefined) return { taint, length: 0 };
  const seconds = matching.tolerationSeconds;
  return { taint, length: Number.isFinite(seconds) ? Math.max(0, Number(seconds)) * 1000 : Number.POSITIVE_INFINITY };
}

/** Infinity without taints. */
export const shortest = (windows: readonly Window[]): Millis =>
  windows.reduce((least, { length }) => Math.min(least, length), Number.POSITIVE_INFINITY);

/** Windows that end. A pod's timer belongs to these: its start does not depend on the others. */
export const limited = (windows: readonly Window[]): readonly Window[] =>
  windows.filter(({ length }) => Number.isFinite(length));

/** Tells a taint from one of the same name that was added at another time. */
export const identityOf = ({ key, value, effect, timeAdded }: Taint): string =>
  `${key}=${value ?? ""}:${effect}@${timeAdded ?? ""}`;

export const keyOfIdentity = (identity: string): string => identity.slice(0, identity.indexOf("="));
